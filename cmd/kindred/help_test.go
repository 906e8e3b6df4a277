package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
)

// TestMainFlags: the help of a command with many flags lists a few of them first, and every flag once.
func TestMainFlags(t *testing.T) {
	left := map[string]bool{}
	for path := range mainFlags {
		left[path] = true
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		c.InitDefaultHelpFlag()
		n := 0
		c.LocalFlags().VisitAll(func(*pflag.Flag) { n++ })
		names := strings.Fields(mainFlags[c.CommandPath()])
		delete(left, c.CommandPath())
		if n > maxFlags != (len(names) > 0) || len(names) > 6 {
			t.Errorf("%s has %d flags and %d main ones", c.CommandPath(), n, len(names))
		}
		if len(names) == 0 {
			return
		}
		_, help, _ := runArgs(t, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		_, help, _ = strings.Cut(help, "\nFlags:\n")
		first, others, ok := strings.Cut(help, "\nFurther flags:\n")
		others, _, cut := strings.Cut(others, "\nGlobal Flags:\n")
		if !ok || !cut || strings.Count(first, "\n      --") != len(names)-1 {
			t.Errorf("%s: the main flags are\n%s", c.CommandPath(), first)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if strings.Count("\n"+first+others, "--"+f.Name+" ") < 1 {
				t.Errorf("the help of %s lacks --%s", c.CommandPath(), f.Name)
			}
		})
	}
	visit(newRoot(&console.Console{Out: io.Discard, Err: io.Discard}))
	for path := range left {
		t.Errorf("there is no command %s", path)
	}
}

// TestCommandGroups: the help lists every command under a heading, first those of README.
func TestCommandGroups(t *testing.T) {
	_, help, _ := runArgs(t, "--help")
	if !strings.Contains(help, "Start with:\n  report ") || strings.Contains(help, "Additional Commands") {
		t.Errorf("the help is\n%s", help)
	}
}
