//go:build !unix

package fileinfo

const noWait = 0
