package run

import (
	"cmp"
	"os"
	"path/filepath"
)

// begunSplit returns the split that the run in dir was begun with, "" if there is
// none. Runs once did not write down what a split left to the data came to: it was
// the one called benchmark.
func begunSplit(dir string) string {
	path := filepath.Join(dir, ConfigFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	cfg, err := Parse(path, text)
	if err != nil {
		return "" // which reading the folder will say
	}
	return cmp.Or(cfg.Data.Split, "benchmark")
}
