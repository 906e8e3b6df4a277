package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// source is what photos are looked up in, or, of a server that has several, each of them. Of kindred calibrate it is
// what is calibrated, or what is done with it.
type source uint16

const (
	inPhotos     source = 1 << iota // that a network embeds
	inEmbeddings                    // and a network for the queries
	inVectors                       // embeddings, for queries that are embeddings
	inIndex
	inStore
	inReview // none, but decisions about a page
	ofRun
	ofFile // of embeddings
	ofList // of files, on standard input
	toLearn
	byFolds
	byTrials
	byCheck // without what it checks
	toLabelled
	toUnlabelled

	inTable   = inPhotos | inEmbeddings | inVectors
	byNetwork = inPhotos | inEmbeddings
	inItems   = inIndex | inStore
	anywhere  = inTable | inItems | inReview
)

// String is what messages call the first of the sources.
func (s source) String() string {
	for i, name := range []string{"photos that are embedded (--in)", "a file of embeddings (--embeddings)",
		"embeddings that are looked up by --vector without a network", "an index", "a store of a database (--store)",
		"a review without an index", "a run", "a file of embeddings", "a list of files (-)",
		"a calibration that is written", "--folds", "--trials", "--check", "--check of photos with labels",
		"--check of photos without labels"} {
		if s&(1<<i) != 0 {
			return name
		}
	}
	return "nothing"
}

// rule says to which sources some flags apply. A command need not have all of them.
type rule struct {
	flags string // separated by blanks
	to    source
	with  string // flags, one of which must be given too; "": no further flag
	why   string // they do not apply elsewhere
}

// Why several rules of several commands are as they are.
const (
	oneGallery  = "give one gallery"
	ownNetwork  = "an index has its network, and a store that of --run"
	ownDistance = "it compares by the distance that it was made with"
	ownLabels   = "it says which labels of a file of embeddings are taken"
	forASet     = "it says how a data set of photos is opened"
)

// refuse is a usage error if a flag is given that does not apply to what the command looks into or does.
func refuse(cmd *cobra.Command, of source, rules []rule) error {
	given := func(name string) bool {
		f := cmd.Flags().Lookup(name)
		return f != nil && f.Changed && f.Value.String() != ""
	}
	for _, r := range rules {
		for name := range strings.FieldsSeq(r.flags) {
			if !given(name) {
				continue
			}
			if of&r.to == 0 {
				return usagef("--%s does not apply to %s: %s", name, of, r.why)
			}
			if r.with != "" && !slices.ContainsFunc(strings.Fields(r.with), given) {
				return usagef("--%s applies to --%s, which is missing: %s", name,
					strings.ReplaceAll(r.with, " ", " or --"), r.why)
			}
		}
	}
	return nil
}
