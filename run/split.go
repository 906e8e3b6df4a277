package run

import "cmp"

// begunSplit returns the split that the run in dir was begun with, "" if there is
// none. Runs once did not write down what a split left to the data came to: it was
// the one called benchmark.
func begunSplit(dir string) string {
	f, err := Open(dir)
	if err != nil {
		return ""
	}
	cfg, err := f.Config()
	if err != nil {
		return "" // which reading the folder will say
	}
	return cmp.Or(cfg.Data.Split, "benchmark")
}
