// Package refdata holds reference values for tests: the repository's own cases (Own),
// and files of the optional folder ../shared beside the repository, with golden cases
// and data sets (Path).
package refdata

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sbinet/npyio"
)

// Path returns a path below ../shared, relative to the folder of go.mod. It skips the
// test, with a message, if the path does not exist.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := ""
	for ; ; dir = filepath.Dir(dir) { // the outermost go.mod: the repository's other modules are inside it
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			root = dir
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	if root == "" {
		t.Fatal("no folder above the test has a go.mod")
	}
	path := filepath.Join(append([]string{root, "..", "shared"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("optional reference data are missing: %v", err)
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
