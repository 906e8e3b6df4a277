//go:build !linux

package main

import "os"

// Resident memory is only measured on Linux.

func peak(*os.ProcessState) int64 { return 0 }

func peakOf(int) int64 { return 0 }

func resident(int) int64 { return 0 }
