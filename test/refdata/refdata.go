// Package refdata holds reference values for tests: the repository's own cases
// (see Own), and, by Path, the optional folder that may lie beside it, ../shared
// with golden cases and data sets, as a second check.
package refdata

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sbinet/npyio"
)

// Path returns a path below ../shared, seen from the folder of go.mod. It skips
// the test, with a message, where that is absent.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := ""
	for ; ; dir = filepath.Dir(dir) { // the outermost: modules of the repository's own lie within it
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			root = dir
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	if root == "" {
		t.Fatal("no go.mod above the test")
	}
	path := filepath.Join(append([]string{root, "..", "shared"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("optional reference data: %v", err)
	}
	return path
}

// ReadNPY reads all values of a .npy file.
func ReadNPY[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var v []T
	if err := npyio.Read(f, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}
