// Command release makes the files of a release of kindred from the commit that is checked
// out: archives, packages, an image, their descriptions and their checksums. docs/release.md
// lists the files.
//
// It is a module of its own, so that kindred does not depend on libraries that make packages.
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

// systems are the systems of a release.
var systems = []system{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
	{"windows", "arm64"},
}

// system is an operating system and a processor, by Go's names.
type system struct{ os, arch string }

func (s system) String() string { return s.os + "/" + s.arch }

// binary returns the name of the program's file.
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
	version := flags.String("version", "", "version, which is the tag, such as v0.1.0")
	repo := flags.String("repo", ".", "repository, whose checked-out commit is released")
	dir := flags.String("out", "dist", "folder to write to")
	only := flags.String("systems", "", "systems to build for, such as linux/amd64,linux/arm64; without all six, no "+
		"formula and no manifest is written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %s: not allowed, the command takes only flags", flags.Arg(0))
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

// semantic matches a version by semver.org, with Go's v. Build metadata (after +) are not
// allowed, because files of packages cannot have them.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z]+([.-][0-9A-Za-z]+)*)?$`)

func checkVersion(v string) error {
	if !semantic.MatchString(v) {
		return fmt.Errorf("version %q: must be like v0.1.0 or v0.1.0-rc.1 (make release VERSION=v0.1.0)", v)
	}
	return nil
}

// parseSystems reads a list with commas or spaces; an empty list means all systems.
func parseSystems(list string) ([]system, error) {
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) == 0 {
		return systems, nil
	}
	var chosen []system
	for _, name := range names {
		i := slices.IndexFunc(systems, func(s system) bool { return s.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("system %q: must be one of %v", name, systems)
		}
		if !slices.Contains(chosen, systems[i]) {
			chosen = append(chosen, systems[i])
		}
	}
	return chosen, nil
}

// release is a release that is being made.
type release struct {
	version   string // v0.1.0
	out, work string // folder to write to; temporary folder
	log       io.Writer
	source    source
	shared    []file   // files of every archive besides the binary
	written   []string // names in out
}

// plain returns the version without Go's v, for packages.
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
