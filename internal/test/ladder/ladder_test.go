package ladder

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/kindred-ml/kindred"

// pathInModule returns a package's path in the module.
func pathInModule(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// TestImports compares the table with the packages' imports.
func TestImports(t *testing.T) {
	table := make(map[string]*Package)
	for _, p := range Packages() {
		table[p.Path] = &p
	}
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var listed struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&listed); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name, _ := pathInModule(listed.ImportPath)
		p := table[name]
		if p == nil {
			t.Errorf("package %s is not in the table: add it to internal/test/ladder and run make gen", name)
			continue
		}
		delete(table, name)
		for _, path := range listed.Imports {
			path, ours := pathInModule(path)
			if (ours || isModule(path)) && !p.MayImport(path) {
				t.Errorf("%s imports %s, which the table does not allow", name, path)
			}
		}
	}
	for name := range table {
		t.Errorf("the table has package %s, which is not there", name)
	}
}

// TestOrder checks that a package may import only packages above it in the table, so that
// all imports point in one direction.
func TestOrder(t *testing.T) {
	above := map[string]bool{"*": true}
	for _, p := range Packages() {
		for _, path := range strings.Fields(p.Imports) {
			if !isModule(path) && !above[path] {
				t.Errorf("%s may import %s, which does not stand above it", p.Path, path)
			}
		}
		if above[p.Path] {
			t.Errorf("%s stands there twice", p.Path)
		}
		above[p.Path] = true
		if p.Holds == "" {
			t.Errorf("the table does not say what %s holds", p.Path)
		}
	}
}

// TestFloors checks that every package is on the floor of its folder, so that the folder
// shows which packages it may import.
func TestFloors(t *testing.T) {
	floors := Floors()
	for i := range floors {
		if len(floors[i].Packages) == 0 {
			t.Errorf("nothing stands on the floor %s", floors[i].Name)
		}
		for _, p := range floors[i].Packages {
			best := i
			for k := range floors {
				if floors[k].FolderLen(p.Path) > floors[best].FolderLen(p.Path) {
					best = k
				}
			}
			if best != i {
				t.Errorf("%s stands with %s; its folder belongs to %s", p.Path, floors[i].Name, floors[best].Name)
			}
		}
	}
}

func TestMay(t *testing.T) {
	p := Package{Imports: "mat internal/base/par gonum.org/v1/gonum"}
	for path, want := range map[string]bool{
		"mat": true, "internal/base/par": true, "gonum.org/v1/gonum/mat": true, "gonum.org/v1/gonum": true,
		"mat/x": false, "internal": false, "gonum.org/v1/plot": false, "gonum.org/v1/gonumx": false, "nn": false,
	} {
		if p.MayImport(path) != want {
			t.Errorf("May(%q) = %v", path, !want)
		}
	}
	if everything := (Package{Imports: "*"}); !everything.MayImport("nn") || !everything.MayImport("example.org/x/y") {
		t.Error("* does not allow all")
	}
}
