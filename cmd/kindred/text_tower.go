package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/internal/network/textencoder"
	"github.com/kindred-ml/kindred/run"
)

// addTower adds the flag that names the folder of a text tower.
func addTower(cmd *cobra.Command, to *string, usage string) {
	newFlags(cmd).text(to, "words", "", usage, completeFolders)
}

// towerHelp is the help of --words of commands that search.
const towerHelp = "folder of the text tower that was trained together with the network; default: the one that the " +
	"index remembers"

// networkFolder returns the folder of a network from a file or folder; "" for one by name.
func networkFolder(network string) string {
	switch st, err := os.Stat(network); {
	case err != nil:
		return ""
	case st.IsDir():
		return network
	}
	return filepath.Dir(network)
}

// recordTower finds the text tower of an index whose network is read from a place: the one in dir or, if dir is "",
// the one in the folder of the network.
func (a *app) recordTower(dir string, m *run.Model, network string, to *index.Network) error {
	named := dir != ""
	if !named {
		dir = networkFolder(network)
	}
	if dir == "" || !named && !textencoder.IsTower(dir) {
		return nil
	}
	_, err := provenance.OpenTower(m, network, dir)
	if err == nil {
		err = provenance.RecordTower(to, dir)
	}
	if err != nil && !named {
		fmt.Fprintf(a.err, "the index remembers no text tower: %s\n", escape.Text(err.Error()))
		return nil
	}
	return err
}

// queryHelp describes the queries of a search.
var queryHelp = strings.TrimSpace(`
An argument that names no file or folder, has no path separator and does not end like a
photo's name is words, and so is the value of --text. Words need the text tower that was
trained together with the network (--words), as CLIP and SigLIP have it. + and - between
arguments add and subtract photos and words: a.jpg + b.jpg + "with laces" - red is the sum
of vectors of unit length, itself of unit length. Its photos are left out of the answer.`)
