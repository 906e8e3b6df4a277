package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// source is a set of bits: what photos are looked up in (a server may have several), what kindred calibrate
// calibrates, or what it does.
type source uint32

const (
	inPhotos     source = 1 << iota // photos that a network embeds
	inEmbeddings                    // embeddings, and a network for the queries
	inVectors                       // embeddings, and queries that are embeddings too
	inIndex
	inStore
	inReview // no gallery: the server only keeps the decisions of a review page
	ofRun
	ofFile // a file of embeddings
	ofList // a list of files on standard input
	toLearn
	byFolds
	byTrials
	byCheck // --check, without what it checks
	toLabelled
	toUnlabelled
	byQueue
	byChoice // labels as words

	inTable   = inPhotos | inEmbeddings | inVectors
	byNetwork = inPhotos | inEmbeddings
	inItems   = inIndex | inStore
	anywhere  = inTable | inItems | inReview
)

// String returns the name of the first source of the set, for messages.
func (s source) String() string {
	for i, name := range []string{"photos that are embedded (--in)", "a file of embeddings (--embeddings)",
		"embeddings looked up by --vector without a network", "an index", "a store of a database (--store)",
		"a review without an index", "a run", "a file of embeddings", "a list of files (-)",
		"a new calibration", "--folds", "--trials", "--check", "--check of photos with labels",
		"--check of photos without labels", "jobs of a queue (--queue)", "labels as words (--choices)"} {
		if s&(1<<i) != 0 {
			return name
		}
	}
	return "nothing"
}

// rule says to which sources some flags apply. A command need not have all the flags.
type rule struct {
	flags string // separated by blanks
	to    source
	with  string // flags: one of them must be given too; "" if no further flag is needed
	why   string // reason why the flags do not apply to other sources
}

// The reasons that several rules share.
const (
	oneGallery  = "give one gallery"
	ownNetwork  = "an index contains its network, and a store uses that of --run"
	ownDistance = "it uses the distance that it was made with"
	ownLabels   = "it names the labels of a file of embeddings"
	forASet     = "it controls how a data set of photos is opened"
	forAFile    = "it accepts a file of embeddings of another network"
)

// refuse returns a usage error if a flag is given that does not apply to what the command looks into or does.
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
