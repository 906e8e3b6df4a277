package main

import "github.com/spf13/cobra"

// argumentCompletions is the same for the arguments of commands.
func argumentCompletions() map[string]completion {
	return map[string]completion{
		"kindred train": one(dataSets), "kindred export": one(runsOrFiles),
		"kindred embed": then(runsOrFiles, dataSets), "kindred index create": then(runsOrFiles, dataSets),
		"kindred init": one(dataSets), "kindred data get": one(knownSets), "kindred data info": one(dataSets),
		"kindred weights get": one(knownWeights), "kindred network show": one(anyNetwork),
		"kindred reproduce": one(experiments), "kindred reproduce tune": one(tunable), "kindred sweep": one(yamlFiles),
		"kindred report": runFolders, "kindred diagnose": runsOrFiles, "kindred man": one(folders),
		"kindred discover": one(runsOrFiles), "kindred clean": one(runsOrFiles),
		"kindred search": anyFile, "kindred identify": anyFile, "kindred calibrate": one(runsOrFiles),
		"kindred quantize":     one(runFolders),
		"kindred index search": anyFile, "kindred index add": one(folders), "kindred index remove": one(folders),
		"kindred index info": one(folders), "kindred index compact": one(folders), "kindred index check": one(folders),
		"kindred serve": folders, "kindred index push": one(folders), "kindred index sync": one(dataSets),
		"kindred jobs cancel": cobra.NoFileCompletions, "kindred jobs retry": cobra.NoFileCompletions,
		"kindred jobs remove": cobra.NoFileCompletions,
	}
}

// one is f for the first argument of a command that takes one.
func one(f completion) completion {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, typed)
	}
}

// then completes a first argument and a second one.
func then(first, second completion) completion {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return first(cmd, args, typed)
		case 1:
			return second(cmd, args, typed)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}
