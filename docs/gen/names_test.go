package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/loss"

	"github.com/kindred-ml/kindred/objective"
)

// namesRow is a row of docs/pytorch-metric-learning-names.md: the names of a library and the names here, each as a
// list of the names in code.
type namesRow struct {
	line         int
	theirs, ours []string
	cell         string // ours as written
}

// namesRows reads the tables of the page.
func namesRows(t *testing.T) []namesRow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "pytorch-metric-learning-names.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []namesRow
	for k, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "| ") || cells[0] == " theirs " {
			continue
		}
		if len(cells) != 2 {
			t.Errorf("docs/pytorch-metric-learning-names.md:%d has %d cells", k+1, len(cells))
			continue
		}
		cell := strings.TrimSpace(cells[1])
		rows = append(rows, namesRow{k + 1, backtickTexts(cells[0]), backtickTexts(cell), cell})
	}
	return rows
}

// backtickTexts lists the texts between backticks.
func backtickTexts(text string) []string {
	var all []string
	for k, part := range strings.Split(text, "`") {
		if k%2 == 1 {
			all = append(all, part)
		}
	}
	return all
}

// TestNamesExist checks that the code has every name of ours on the page of names.
func TestNamesExist(t *testing.T) {
	rows := namesRows(t)
	if len(rows) < 80 {
		t.Fatalf("%d rows", len(rows))
	}
	seen := map[string]bool{}
	for _, r := range rows {
		if len(r.theirs) > 1 {
			t.Errorf("docs/pytorch-metric-learning-names.md:%d: %v in one row", r.line, r.theirs)
		}
		for _, name := range r.theirs {
			if seen[name] {
				t.Errorf("docs/pytorch-metric-learning-names.md:%d: %s has a row already", r.line, name)
			}
			seen[name] = true
		}
		if len(r.ours) == 0 && !strings.HasPrefix(r.cell, "none, because ") {
			t.Errorf("docs/pytorch-metric-learning-names.md:%d: neither a name nor a reason: %q", r.line, r.cell)
		}
		for _, name := range r.ours {
			if why := nameError(name); why != "" {
				t.Errorf("docs/pytorch-metric-learning-names.md:%d: `%s`: %s", r.line, name, why)
			}
		}
	}
}

// TestNamesThatDoNotExist checks that nameError finds names that do not exist.
func TestNamesThatDoNotExist(t *testing.T) {
	for _, name := range []string{"loss.name: tripplet", "mine.positives: facenet", "mine.negatives: near",
		"loss.reduce: most", "eval.metrics: nmi@3", "sample.Unbalanced", "objective.Options.Mines", "nowhere.Triplet",
		"loss.l3", "mine.slack", "train.lr"} {
		if nameError(name) == "" {
			t.Errorf("`%s` is taken for a name", name)
		}
	}
}

// nameError returns why a name of the page is not a name of ours, or "". A name is a setting
// with its value, a key of the section loss or mine, or an exported name of a package with its
// folder; a method or field also has the type's name.
func nameError(name string) string {
	if key, value, ok := strings.Cut(name, ": "); ok {
		return errorText(settingError(key, value))
	}
	folder, base := path.Split(name)
	pkg, ident, _ := strings.Cut(base, ".")
	if ident == "" || !ast.IsExported(ident) {
		return keyError(pkg, ident)
	}
	p, err := parsePackage(filepath.Join("..", "..", filepath.FromSlash(folder+pkg)))
	if err != nil {
		return err.Error()
	}
	typ, member, _ := strings.Cut(ident, ".")
	if !isExported(p.pkg, typ, member) {
		return "package " + folder + pkg + " has no such thing"
	}
	return ""
}

// errorText returns the text of an error, or "".
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// settingError returns the code's error for a key's value.
func settingError(key, value string) error {
	var err error
	switch key {
	case "eval.metrics":
		_, err = eval.ParseMetric(value)
	case "loss.reduce":
		_, err = loss.ParseReduction(value)
	default:
		section, k, _ := strings.Cut(key, ".")
		cfg := map[string]map[string]any{section: {k: value}}
		if key == "mine.positives" {
			cfg[section]["negatives"] = "hard" // those of the default do not go with all positives
		}
		_, err = objective.Parse(cfg["mine"], cfg["loss"])
		if cfg["mine"] == nil && cfg["loss"] == nil {
			err = fmt.Errorf("the page may name settings of mine, loss and eval.metrics")
		}
	}
	return err
}

// keyError returns why the sections mine and loss of all losses do not have a key.
func keyError(section, key string) string {
	if section != "loss" && section != "mine" {
		return "neither a key of mine or loss nor something exported"
	}
	for _, info := range objective.Losses() {
		// The value fits no key, so a known key is an error because of its value.
		cfg := map[string]map[string]any{section: {key: struct{}{}}}
		lossCfg := map[string]any{"name": info.Name}
		maps.Copy(lossCfg, cfg["loss"])
		_, err := objective.Parse(cfg["mine"], lossCfg)
		if err != nil && !strings.Contains(err.Error(), section+"."+key+": unknown key") {
			return ""
		}
	}
	return "no such key"
}

// isExported reports whether a package has an exported type, function, constant or variable
// of that name and, unless member is empty, whether the type has that method or field.
func isExported(p *doc.Package, name, member string) bool {
	values := slices.Concat(p.Consts, p.Vars)
	funcs := slices.Clone(p.Funcs)
	for _, t := range p.Types {
		if t.Name == name {
			return member == "" || slices.ContainsFunc(t.Methods, func(f *doc.Func) bool { return f.Name == member }) ||
				slices.Contains(fieldNames(t), member)
		}
		values = slices.Concat(values, t.Consts, t.Vars)
		funcs = append(funcs, t.Funcs...)
	}
	value := func(v *doc.Value) bool { return slices.Contains(v.Names, name) }
	return member == "" && (slices.ContainsFunc(values, value) ||
		slices.ContainsFunc(funcs, func(f *doc.Func) bool { return f.Name == name }))
}

// fieldNames lists the names in a struct.
func fieldNames(t *doc.Type) []string {
	var names []string
	s, ok := t.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, f := range s.Fields.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
	}
	return names
}
