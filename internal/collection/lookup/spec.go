package lookup

import (
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// Kind says what a gallery is made of.
type Kind int

// The kinds of galleries.
const (
	None    Kind = iota
	Photos       // photos that a network embeds
	Vectors      // embeddings of a file, and a network that embeds the queries
	Rows         // embeddings of a file; the queries are embeddings too, and no network is needed
	Index        // an index
	Store        // a store of a database
	Labels       // no gallery: labels that are words
)

func (k Kind) String() string {
	return []string{"nothing", "photos that are embedded", "a file of embeddings", "embeddings looked up by " +
		"embeddings without a network", "an index", "a store of a database", "labels as words"}[k]
}

// Spec names a gallery, its network, and what is read of both. Index, Store, Embeddings and In name the gallery, the
// first that is set.
type Spec struct {
	Index      string // folder of an index
	Store      string // address of a store
	Embeddings string // file of embeddings
	In         string // data set of photos; with Embeddings, the photos of its rows
	Run        string // folder of the run whose network embeds photos
	Network    string // the same of a network that was not trained here: a name, a file or a folder
	Vector     string // file of embeddings to look up; a gallery of Embeddings then needs no network
	Choices    bool   // labels as words, instead of a gallery
	Labels     string // file of the labels of Embeddings
	Column     string // column of the classes; "": the usual one
	GroupBy    string // further column to read; "": none
	Distance   string // of a table; "": that of the network
	Memory     int64  // for ranking a table, as in eval.RankOptions
	Words      string // folder of the text tower; "": the one that the index remembers
	Strict     bool   // an unreadable photo is an error
	// ForceNetwork accepts embeddings of different networks.
	ForceNetwork bool
	// Way is advice in the error about a gallery without a network.
	Way string
}

// NetworkName returns the network that embeds photos, for people.
func (s *Spec) NetworkName() string {
	if s.Run != "" {
		return s.Run
	}
	return s.Network
}

// Kind returns the kind of the gallery.
func (s *Spec) Kind() Kind {
	switch {
	case s.Choices:
		return Labels
	case s.Store != "":
		return Store
	case s.Index != "":
		return Index
	case s.Embeddings != "" && s.Vector != "" && s.NetworkName() == "":
		return Rows
	case s.Embeddings != "":
		return Vectors
	case s.In != "":
		return Photos
	}
	return None
}

// settingRule lists which kinds of galleries a setting applies to.
type settingRule struct {
	settings string // separated by blanks
	to       []Kind
	reason   string // why it does not apply to others
}

const ownNetwork = "an index contains its network, and a store uses that of --run"

// settings are those that do not apply to every kind of gallery. A program need not have all of them.
var settings = []settingRule{
	{"in embeddings", []Kind{Photos, Vectors, Rows}, "give one gallery"},
	{"index", []Kind{Index, Labels}, "give one gallery"},
	{"run", []Kind{Photos, Vectors, Store, Labels}, ownNetwork},
	{"network", []Kind{Photos, Vectors, Labels}, ownNetwork},
	{"offline cut size shorter pixels fit resample colours weights-dir", []Kind{Photos, Vectors, Labels},
		"photos are not embedded by a network of --network"},
	{"distance", []Kind{Photos, Vectors}, "it uses the distance that it was made with"},
	{"labels", []Kind{Vectors, Rows}, "it names the labels of a file of embeddings"},
	{"column", []Kind{Vectors, Rows, Index, Store}, "it names the labels of a file of embeddings"},
	{"scratch", []Kind{Photos, Vectors}, "the index or the database ranks it, not this command"},
	{"exact", []Kind{Index}, "the database decides how it searches"},
	{"filter id", []Kind{Index, Store}, "only an index and a store have columns to filter by, and ids"},
	{"out table vector calibration fpir estimate strangers coverage closed together least",
		[]Kind{Photos, Vectors, Rows, Index, Store}, "the network decides, without a gallery and a calibration"},
}

// Validate refuses settings that do not apply to the gallery, with an *option.InapplicableError. given
// reports whether a setting is given: in, embeddings, index, run, network, ...
func (s *Spec) Validate(given func(setting string) bool) error {
	kind := s.Kind()
	for _, rule := range settings {
		if slices.Contains(rule.to, kind) {
			continue
		}
		for name := range strings.FieldsSeq(rule.settings) {
			if given(name) {
				return &option.InapplicableError{Setting: name, To: kind.String(), Reason: rule.reason}
			}
		}
	}
	return nil
}
