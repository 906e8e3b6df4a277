// Command promises tries what kindred promises: it draws worlds of classes, asks for every promise
// in each of them, and counts how often it was broken. make promises runs it.
//
// A line of the table says how many of the trials broke the promise, with Clopper and Pearson's
// interval at 95 %. A promise holds if the interval reaches down to the share that may be broken.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
)

// section is a part of the table: promises of one package.
type section struct {
	name string
	// try calls out with every line as soon as it is known. scale multiplies the numbers of trials;
	// 1 gives those of make promises.
	try func(ctx context.Context, ask options, out func(promiseLine)) error
}

// options holds the options of a section.
type options struct {
	scale float64
	seed  uint64
	world *regexp.Regexp // matches the names of worlds
	// embeddings is a file of embeddings of photographs with labels; "" for none.
	embeddings string
}

// numTrials returns n times the scale, at least 1.
func (a *options) numTrials(n int) int { return max(1, int(a.scale*float64(n)+0.5)) }

func sections() []section {
	return []section{
		{"matches", tryMatches},
		{"strangers", tryStrangers},
		{"photographs", tryPhotographs},
		{"failed", tryFailed},
		{"labels", tryLabels},
		{"discover", tryDiscover},
		{"clean", tryClean},
		{"bootstrap", tryBootstrap},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promises:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("promises", flag.ContinueOnError)
	only := flags.String("only", "", "sections to try, separated by commas (default all): "+
		strings.Join(sectionNames(), ", "))
	world := flags.String("world", "", "regular expression of the worlds to try (default all)")
	embeddings := flags.String("embeddings", "", "embeddings of photographs with labels, for the section photographs")
	scale := flags.Float64("scale", 1, "factor for the numbers of trials")
	seed := flags.Uint64("seed", 1, "seed of the random draws")
	if err := flags.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*world)
	if err != nil {
		return err
	}
	wanted := sectionNames()
	if *only != "" {
		wanted = strings.Split(*only, ",")
	}
	if _, err := io.WriteString(w, header); err != nil {
		return err
	}
	broken := 0
	for _, name := range wanted {
		s, err := findSection(name)
		if err != nil {
			return err
		}
		var failed error
		err = s.try(ctx, options{*scale, *seed, match, *embeddings}, func(l promiseLine) {
			if !l.agrees() {
				broken++
			}
			if err := l.write(w); err != nil && failed == nil {
				failed = err
			}
		})
		if err != nil || failed != nil {
			return fmt.Errorf("%s: %w", name, firstError(err, failed))
		}
	}
	if broken > 0 {
		return fmt.Errorf("%d promises are broken more often than allowed", broken)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func sectionNames() []string {
	var out []string
	for _, s := range sections() {
		out = append(out, s.name)
	}
	return out
}

func findSection(name string) (*section, error) {
	for _, s := range sections() {
		if s.name == name {
			return &s, nil
		}
	}
	return nil, fmt.Errorf("no section %q: the sections are %s", name, strings.Join(sectionNames(), ", "))
}
