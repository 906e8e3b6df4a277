// Command release makes what a release of kindred holds, from the commit that is checked
// out: archives, packages, an image, what describes them, and their checksums. docs/release.md
// lists the files.
//
// It is a module of its own, so that what makes packages is no part of what kindred needs.
//
//	go run . -version v0.1.0 -repo ../.. -out ../../dist
//
// The same commit and version give the same bytes: kindred is built from a clone, paths are
// trimmed, and every time stamp is the commit's.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// systems are what a release is made for.
var systems = []system{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
	{"windows", "arm64"},
}

// system is an operating system and a processor, by Go's names.
type system struct{ os, arch string }

func (s system) String() string { return s.os + "/" + s.arch }

// binary is what the program's file is called.
func (s system) binary() string {
	if s.os == "windows" {
		return "kindred.exe"
	}
	return "kindred"
}

func main() {
	if err := command(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// command runs the program with its arguments.
func command(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "the version, which is the tag: v0.1.0")
	repo := flags.String("repo", ".", "the repository; its commit that is checked out is released")
	dir := flags.String("out", "dist", "the folder to write to")
	only := flags.String("systems", "", "for these alone, such as linux/amd64,linux/arm64; without all six, no "+
		"formula and no manifest is written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: the command takes flags alone", flags.Arg(0))
	}
	if err := checkVersion(*version); err != nil {
		return err
	}
	chosen, err := parseSystems(*only)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "kindred-release")
	if err != nil {
		return err
	}
	r := &release{version: *version, out: *dir, work: work, log: out}
	return errors.Join(r.make(*repo, chosen), os.RemoveAll(work))
}

// semantic is a version by semver.org, with Go's v. What follows a + is left out: files of
// packages cannot carry it.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z]+([.-][0-9A-Za-z]+)*)?$`)

func checkVersion(v string) error {
	if !semantic.MatchString(v) {
		return fmt.Errorf("version %q: give one such as v0.1.0 or v0.1.0-rc.1 (make release VERSION=v0.1.0)", v)
	}
	return nil
}

// parseSystems reads a list with commas or spaces; an empty one means all.
func parseSystems(list string) ([]system, error) {
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) == 0 {
		return systems, nil
	}
	var chosen []system
	for _, name := range names {
		i := slices.IndexFunc(systems, func(s system) bool { return s.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("system %q: there are %v", name, systems)
		}
		if !slices.Contains(chosen, systems[i]) {
			chosen = append(chosen, systems[i])
		}
	}
	return chosen, nil
}

// release is one release while it is made.
type release struct {
	version   string // v0.1.0
	out, work string // the folder that is written to; a temporary one
	log       io.Writer
	source    source
	shared    []file   // what stands in every archive beside the binary
	written   []string // names in out
}

// plain is the version without Go's v, as packages carry it.
func (r *release) plain() string { return strings.TrimPrefix(r.version, "v") }

// make makes everything for the given systems.
func (r *release) make(repo string, chosen []system) error {
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	var err error
	if r.source, err = clone(repo, filepath.Join(r.work, "source"), r.version); err != nil {
		return err
	}
	if err := described(r.source.dir, r.version); err != nil {
		return err
	}
	if r.shared, err = r.sharedFiles(); err != nil {
		return err
	}
	var built []build
	for _, s := range chosen {
		b, err := r.build(s)
		if err != nil {
			return fmt.Errorf("%v: %w", s, err)
		}
		built = append(built, b)
		for _, step := range []func(build) error{r.archive, r.bill, r.packages} {
			if err := step(b); err != nil {
				return fmt.Errorf("%v: %w", s, err)
			}
		}
	}
	if err := r.image(built); err != nil {
		return err
	}
	if len(built) == len(systems) {
		if err := r.manifests(); err != nil {
			return err
		}
	}
	return r.sums()
}

// write writes a file of the release under a temporary name and renames it.
func (r *release) write(name string, content []byte) error {
	tmp := filepath.Join(r.out, "."+name+".part")
	if err := os.WriteFile(tmp, content, 0o666); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(r.out, name)); err != nil {
		return err
	}
	r.written = append(r.written, name)
	_, err := fmt.Fprintf(r.log, "%-48s %6.1f MB\n", name, float64(len(content))/1e6)
	return err
}
