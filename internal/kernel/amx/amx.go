// Package amx tells whether the matrix unit of Intel's processors (AMX, since Sapphire
// Rapids) may be used, and asks the operating system for it.
//
// The unit holds eight tiles of 16 rows of 64 bytes. A kernel that uses them is one
// assembly function: it loads its configuration of tiles first and releases them last.
// Go does not preempt a goroutine within such a function, so nothing of it is in tiles
// when another goroutine runs on the thread; what interrupts the thread itself, signals
// and other processes, the operating system saves and restores.
package amx

import (
	"os"
	"strings"
	"sync"
)

// Int8 reports whether products of 8-bit integers can be used, BFloat16 whether those of
// bfloat16 can. KINDRED_ISA=avx512, and all that is lower, forbids both. The first call
// asks the operating system, since tiles make what it saves for a signal larger.
func Int8() bool { return isUsable() && hasInt8() }

// BFloat16 is Int8 for products of bfloat16.
func BFloat16() bool { return isUsable() && hasBFloat16() }

var isUsable = sync.OnceValue(func() bool {
	switch strings.ToLower(os.Getenv("KINDRED_ISA")) {
	case "avx512", "avx2", "go":
		return false
	}
	return hasTiles() && requestPermission()
})
