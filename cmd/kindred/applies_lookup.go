package main

import "github.com/spf13/cobra"

// source is a set of bits: what photos are looked up in (a server may have several).
type source uint32

const (
	inPhotos     source = 1 << iota // photos that a network embeds
	inEmbeddings                    // embeddings, and a network for the queries
	inVectors                       // embeddings, and queries that are embeddings too
	inIndex
	inStore
	inReview // no gallery: the server only keeps the decisions of a review page
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
		"a review without an index", "labels as words (--choices)"} {
		if s&(1<<i) != 0 {
			return name
		}
	}
	return "nothing"
}

// sourceRule is a rule for sources.
type sourceRule struct {
	flags string
	to    source // sources to which the flags apply
	with  string // flags of which one must be given too
	why   string
}

// refuseOf is refuse for a source.
func refuseOf(cmd *cobra.Command, of source, rules []sourceRule) error {
	return refuse(cmd, of.String(), each(rules, func(r sourceRule) rule {
		return rule{r.flags, of&r.to != 0, r.with, r.why}
	})...)
}
