// Stress runs the tests of packages many times under difficult conditions, and prints how often
// each test failed:
//
//	stress -runs 20 ./index ./serve
//
// The conditions take turns: a busy machine, one processor, a process that is stopped from time
// to time, the race detector, no network and others (conditions.go). A test that fails in one of
// them has a fault, or the program has: for example, it waits for a time instead of a condition,
// or two goroutines run in an unexpected order. The output of each failing run is kept in a file
// in the folder of -out. The exit status is 1 if any run failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	o := options{said: os.Stdout}
	names := flag.String("conditions", "", "conditions to use, such as load,freeze (default all possible ones)")
	flag.IntVar(&o.runs, "runs", 20, "number of runs of each package; the conditions take turns")
	flag.StringVar(&o.pattern, "run", ".", "regular expression of the tests to run")
	flag.StringVar(&o.skip, "skip", "", "regular expression of the tests to leave out")
	flag.BoolVar(&o.long, "long", false, "also run the tests that -short leaves out")
	flag.StringVar(&o.out, "out", "dist/stress", "folder for the output of failing runs")
	flag.DurationVar(&o.limit, "timeout", 20*time.Minute, "longest time of one run")
	list := flag.Bool("list", false, "list the conditions and end")
	flag.Parse()
	if *list {
		for _, c := range conditions() {
			fmt.Printf("%-8s %s\n", c.name, c.what)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := stress(ctx, o, *names, flag.Args())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "stress:", err)
		stop()
		os.Exit(2)
	case failed:
		stop()
		os.Exit(1)
	}
}

// options are the values of the flags.
type options struct {
	said          io.Writer
	runs          int
	pattern, skip string
	long          bool
	out           string
	limit         time.Duration
}

// stress runs the tests of the packages that match the patterns, and reports whether any failed.
func stress(ctx context.Context, o options, names string, patterns []string) (failed bool, err error) {
	if len(patterns) == 0 || o.runs < 1 {
		return false, errors.New("want packages such as ./index ./serve, and at least one run")
	}
	packages, err := listPackages(patterns)
	if err != nil {
		return false, err
	}
	work, err := os.MkdirTemp("", "stress-*")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	chosen, err := choose(o.said, names)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return false, err
	}
	t := tally{}
	for i, p := range packages {
		binaries, err := p.compile(ctx, work, chosen)
		if err != nil {
			return false, err
		}
		if len(binaries) == 0 { // it has no tests
			continue
		}
		for k := range o.runs {
			c := chosen[(i+k)%len(chosen)]
			begun := time.Now()
			r := p.run(ctx, o, binaries[c.race], c, k)
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			t.add(p.path, c.name, r)
			result := "ok"
			if len(r.failed) > 0 {
				result = "FAIL " + strings.Join(r.failed, ", ")
				name := fmt.Sprintf("%s-%s-%d.txt", strings.ReplaceAll(p.path, "/", "-"), c.name, k)
				if err := os.WriteFile(filepath.Join(o.out, name), r.output, 0o666); err != nil {
					return false, err
				}
			}
			fmt.Fprintf(o.said, "%s %d of %d, %s, %.1f s: %s\n", p.path, k+1, o.runs, c.name,
				time.Since(begun).Seconds(), result)
		}
		for _, file := range binaries {
			os.Remove(file)
		}
	}
	return t.print(o.said), nil
}

// pkg is a package whose tests are run.
type pkg struct{ path, dir string }

// listPackages returns the packages of this module that match the patterns, by their path in the module.
func listPackages(patterns []string) ([]pkg, error) {
	args := append([]string{"list", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{with .Module}}{{.Path}}{{end}}"}, patterns...)
	list := exec.Command("go", args...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var found []pkg
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		found = append(found, pkg{strings.TrimPrefix(strings.TrimPrefix(f[0], f[2]), "/"), f[1]})
	}
	return found, nil
}

// compile makes the package's test binary and, if a condition needs it, the binary with the race
// detector. It returns their files by whether they have the detector; no files without tests.
func (p pkg) compile(ctx context.Context, work string, chosen []condition) (map[bool]string, error) {
	files := make(map[bool]string)
	for _, race := range []bool{false, true} {
		if !slices.ContainsFunc(chosen, func(c condition) bool { return c.race == race }) {
			continue
		}
		file := filepath.Join(work, fmt.Sprintf("%s-%t.test", strings.ReplaceAll(p.path, "/", "-"), race))
		args := []string{"test", "-c", "-vet=off", "-o", file}
		env := append(os.Environ(), "CGO_ENABLED=0")
		if race {
			args, env = append(args, "-race"), append(os.Environ(), "CGO_ENABLED=1")
		}
		build := exec.CommandContext(ctx, "go", append(args, ".")...)
		build.Dir, build.Env = p.dir, env
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s does not compile: %w\n%s", p.path, err, out)
		}
		if _, err := os.Stat(file); err == nil {
			files[race] = file
		}
	}
	return files, nil
}
