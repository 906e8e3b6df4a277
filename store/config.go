package store

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
)

// Config describes a new store of an engine.
type Config struct {
	Dim int // length of the vectors, at least 1
	// Distance is euclidean, the default, cosine or dot.
	Distance string
	Network  string // name of the network that makes the embeddings, for people
	// HNSW makes a graph of near items (Malkov and Yashunin, 2016): searches are then
	// fast and approximate. Without it they read every item and are exact.
	HNSW bool
	// MaxNeighbours is the number of neighbours of an item in the graph, Build the number of
	// candidates for them: M and ef_construction of the paper. Defaults 16 and 64.
	// Larger values find more of the true neighbours, and make writing slower.
	MaxNeighbours, BuildCandidates int
	// Float16 keeps vectors in float16, which halves their size. Info.Loss describes what
	// they lose.
	Float16 bool
}

var storeName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,50}$`)

// Check fills in the defaults. It is an error if an engine whose vectors have at most
// maxDim numbers cannot have the name or the config.
func (c *Config) Check(name string, maxDim int) error {
	if err := CheckName(name); err != nil {
		return err
	}
	c.Distance = cmp.Or(c.Distance, "euclidean")
	c.MaxNeighbours, c.BuildCandidates = cmp.Or(c.MaxNeighbours, 16), cmp.Or(c.BuildCandidates, 64)
	switch {
	case !slices.Contains([]string{"euclidean", "cosine", "dot"}, c.Distance) || c.Dim < 1 || c.Dim > maxDim:
		return fmt.Errorf("vectors of %d numbers with the distance %q: must be 1 to %d numbers, and "+
			"euclidean, cosine or dot",
			c.Dim, c.Distance, maxDim)
	case c.MaxNeighbours < 2 || c.MaxNeighbours > 100 || c.BuildCandidates < 2*c.MaxNeighbours ||
		c.BuildCandidates > 1000:
		return fmt.Errorf("a graph of %d links, built from %d candidates: must be 2 to 100 links, and from twice "+
			"that to 1000 candidates",
			c.MaxNeighbours, c.BuildCandidates)
	}
	return nil
}

// CheckName returns an error for a name that is not allowed in every engine.
func CheckName(name string) error {
	if !storeName.MatchString(name) {
		return fmt.Errorf("store name %q: must be small letters, digits and underscores", name)
	}
	return nil
}

// CheckExisting returns an error if an existing store's length of vectors or distance differs
// from the config's.
func (c *Config) CheckExisting(name string, dim int, distance string) error {
	if dim != c.Dim || distance != c.Distance {
		return fmt.Errorf("the store %s has vectors of %d numbers and the %s distance, not %d and %s", name, dim,
			distance, c.Dim, c.Distance)
	}
	return nil
}

// Float16Loss is the Info.Loss of engines that keep vectors in float16.
const Float16Loss = "numbers are kept in float16, with 11 bits: errors are up to 0.05 %, and numbers " +
	"smaller than 6e-8 become 0"

// CheckFloat16 returns an *ItemError if the vector has a number beyond float16's 65504.
func (it *Item) CheckFloat16() error {
	for i, v := range it.Vector {
		if math.Abs(float64(v)) > 65504 {
			return &ItemError{ID: it.ID,
				Err: fmt.Errorf("number %d of its vector is %g, beyond the 65504 of float16", i, v)}
		}
	}
	return nil
}
