// Package tree reads the files of a data set, wherever they are: in a folder, a .zip archive, a file system or shards.
// It also says which files are no samples, and why.
package tree
