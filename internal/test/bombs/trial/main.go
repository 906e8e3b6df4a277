// Trial gives hostile image files (internal/test/bombs) to the commands of kindred and to a server, and
// prints a table of what they took:
//
//	go run ./internal/test/bombs/trial -kindred bin/kindred -only '^iloc'
//
// Each file must keep to the bounds: a command has at most 1.4 times --memory resident, and names a file that it
// refuses within two seconds of a processor, beside what it takes for a sound file of the same format. A server that
// gets the file 50 times keeps to the same memory, lives, answers /healthz within 0.2 s meanwhile and a sound photo
// afterwards. A value beyond its bound is followed by "!". The exit status is 1 if there is any. $KINDRED_DECODERS
// must name the folder of the decoder for HEIC, as .ci/heic prints it.
//
// The latencies depend on what else the machine does. The process itself uses one processor while it uploads; another
// process, of its own, asks for /healthz.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/test/bombs"
)

func main() {
	o := options{}
	flag.StringVar(&o.kindred, "kindred", "bin/kindred", "the program to try")
	flag.StringVar(&o.only, "only", ".", "regular expression of the names of files to try")
	flag.StringVar(&o.kinds, "kinds", "info,search,sync,serve", "what gets the files")
	flag.DurationVar(&o.limit, "limit", 60*time.Second, "longest time of a command, and of the uploads of a file")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Second, "--timeout of the server")
	flag.StringVar(&o.write, "write", "", "only write the files into this folder")
	flag.StringVar(&o.probe, "probe", "", "only ask this server for /healthz until standard input ends, and print the "+
		"longest time that an answer took")
	flag.Parse()
	if o.probe != "" {
		probe(o.probe)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	beyond, err := try(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "trial:", err)
		os.Exit(2)
	}
	if beyond > 0 {
		fmt.Printf("%d values beyond their bounds\n", beyond)
		os.Exit(1)
	}
}

// options are the values of the flags.
type options struct {
	kindred, only, kinds, write, probe string
	limit, timeout                     time.Duration
}

// The bounds.
const (
	mostPeak  = 1.4             // of --memory
	mostWork  = 2 * time.Second // of a processor, for a file that is refused
	mostDelay = 200 * time.Millisecond
	// runaway is the resident memory at which a process is ended, so that the machine remains.
	runaway = 4 << 30
)

// try tries all files, and returns how many values were beyond their bounds.
func try(ctx context.Context, o options) (beyond int, err error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return 0, err
	}
	if o.write != "" {
		return 0, writeFiles(o.write, only)
	}
	if o.kindred, err = filepath.Abs(o.kindred); err != nil {
		return 0, err
	}
	work, err := os.MkdirTemp("", "trial-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	// Another process writes the files: the memory of this one would count as that of its children.
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	hostile := filepath.Join(work, "hostile")
	write := exec.CommandContext(ctx, self, "-write", hostile, "-only", o.only)
	write.Stderr = os.Stderr
	list, err := write.Output()
	if err != nil {
		return 0, fmt.Errorf("writing the files: %w", err)
	}
	t := &trial{options: o, work: work, hostile: hostile, usual: make(map[string]time.Duration)}
	if err := t.prepare(ctx); err != nil {
		return 0, err
	}
	t.head()
	for _, name := range append(slices.Clone(sound), strings.Fields(string(list))...) {
		if err := errors.Join(ctx.Err(), t.file(ctx, name)); err != nil {
			return t.beyond, err
		}
	}
	return t.beyond, nil
}

// writeFiles writes the hostile files, and prints their names.
func writeFiles(dir string, only *regexp.Regexp) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, f := range bombs.Files() {
		if only.MatchString(f.Name) {
			if err := os.WriteFile(filepath.Join(dir, f.Name), f.Make(), 0o666); err != nil {
				return err
			}
			fmt.Println(f.Name)
		}
	}
	return nil
}
