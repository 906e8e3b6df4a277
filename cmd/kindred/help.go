package main

import (
	"bytes"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
)

// commandGroup is a heading of 'kindred --help' and the constructors of its commands.
type commandGroup struct {
	title    string
	commands []func(*console.Console) *cobra.Command
}

// commandGroups lists all commands in the order of the help.
var commandGroups = []commandGroup{
	{"Start with", []func(*console.Console) *cobra.Command{newTrain, newSearch, newReport}},
	{"Find and decide", []func(*console.Console) *cobra.Command{newIndex, newServe, newCalibrate, newIdentify,
		newNeighbours, newPlan}},
	{"Examine data and labels", []func(*console.Console) *cobra.Command{newData, newClean, newDiscover, newApply,
		newMap}},
	{"Measure", []func(*console.Console) *cobra.Command{newEval, newDiagnose, newLoss, newBench}},
	{"Networks", []func(*console.Console) *cobra.Command{newWeights, newNetwork, newEmbed, newExport, newQuantize}},
	{"Experiment", []func(*console.Console) *cobra.Command{newInit, newSweep, newCompare, newReproduce, newTheory}},
	{"Many machines", []func(*console.Console) *cobra.Command{newWorker, newJobs}},
	{"This program", []func(*console.Console) *cobra.Command{newDoctor, newFormats, newCache, newVersionCommand,
		newMan}},
}

// maxFlags is the most flags of a command whose help lists them under one heading.
const maxFlags = 20

// mainFlags has the flags that most people need, of the commands with more than maxFlags. The help lists them before
// the others.
var mainFlags = map[string]string{
	"kindred search":       "run in index neighbours least out",
	"kindred identify":     "index run in fpir table out",
	"kindred index create": "run network data out columns words",
	"kindred index search": "neighbours filter least group-by id text",
	"kindred serve":        "listen keys sync read-only tls-cert tls-key",
	"kindred eval":         "embeddings labels distance metrics bootstrap out",
	"kindred embed":        "run network data out labels size",
	"kindred reproduce":    "out seeds fast arm data jobs",
	"kindred worker":       "queue queue-secret allow jobs idle launch",
}

// addCommands adds all commands under their headings.
func addCommands(root *cobra.Command, a *console.Console) {
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, create := range g.commands {
			c := create(a)
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	last := commandGroups[len(commandGroups)-1].title
	root.SetHelpCommandGroupID(last)
	root.SetCompletionCommandGroupID(last)
	usage := root.UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error { return printUsage(c, usage) })
}

// printUsage prints the usage of a command, with its main flags before the others.
func printUsage(c *cobra.Command, usage func(*cobra.Command) error) error {
	names := strings.Fields(mainFlags[c.CommandPath()])
	if len(names) == 0 {
		return usage(c)
	}
	out := c.OutOrStderr()
	var text bytes.Buffer
	c.SetOut(&text)
	err := usage(c)
	c.SetOut(nil)
	if err != nil {
		return err
	}
	var first, others pflag.FlagSet
	first.SortFlags = false
	for _, name := range names {
		first.AddFlag(c.Flag(name))
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if first.Lookup(f.Name) == nil {
			others.AddFlag(f)
		}
	})
	_, err = io.WriteString(out, strings.Replace(text.String(), flagLines(c.LocalFlags()),
		flagLines(&first)+"\n\nFurther flags:\n"+flagLines(&others), 1))
	return err
}

// flagLines returns the lines of flags as the usage has them.
func flagLines(f *pflag.FlagSet) string { return strings.TrimRight(f.FlagUsages(), " \n") }
