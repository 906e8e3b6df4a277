package embedding

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// Network identifies the network that made embeddings. Distances between embeddings of different networks mean
// nothing. The zero value is an unknown network.
type Network struct {
	// Name is for people: the folder of a run, or the file or the name of a network.
	Name string `json:"name,omitempty"`
	// Fingerprint is a digest of all that decides an embedding: the weights, the layers, the quantization and the
	// preparation of photos. Package run computes it as "k1:" and 64 digits. A fingerprint without a colon is a
	// digest of the network's files, as earlier versions recorded it.
	Fingerprint string `json:"sum,omitempty"`
	// Preparation describes for people how photos become the network's input.
	Preparation string `json:"preparation,omitempty"`
}

// IsSame reports whether the fingerprints say that two networks are the same.
func (n Network) IsSame(as Network) bool {
	// A digest of files does not include the preparation of photos.
	return n.isComparable(as) && n.Fingerprint == as.Fingerprint &&
		(!n.IsFileDigest() || n.Preparation == as.Preparation)
}

// Differs reports whether the fingerprints say that two networks are different. Neither IsSame nor Differs holds if a
// network is unknown, or if the fingerprints were computed in different ways.
func (n Network) Differs(from Network) bool { return n.isComparable(from) && !n.IsSame(from) }

func (n Network) isComparable(with Network) bool {
	return n.Fingerprint != "" && with.Fingerprint != "" && n.scheme() == with.scheme()
}

// IsFileDigest reports whether the fingerprint is a digest of files, which earlier versions recorded.
func (n Network) IsFileDigest() bool { return n.Fingerprint != "" && n.scheme() == "" }

// scheme returns how the fingerprint was computed: the text before its colon.
func (n Network) scheme() string {
	scheme, _, ok := strings.Cut(n.Fingerprint, ":")
	if !ok {
		return ""
	}
	return scheme
}

// String describes the network for people. Its name is shown without the folder.
func (n Network) String() string {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(n.Name, `\`, "/")), ".onnx")
	if n.Name == "" {
		name = "an unnamed network"
	}
	if n.Preparation == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, n.Preparation)
}

// MetadataKey is the key of a Network's JSON in the metadata of files that have such.
const MetadataKey = "kindred.network"

// maxNetwork bounds the text of a Network in a file.
const maxNetwork = 16 << 10

// ParseNetwork reads the JSON of a Network. It does not trust the text.
func ParseNetwork(text []byte) (Network, error) {
	var n Network
	if len(text) > maxNetwork {
		return n, fmt.Errorf("a network of %d bytes: at most %d are possible", len(text), maxNetwork)
	}
	if err := strictjson.Unmarshal(text, &n); err != nil {
		return Network{}, err
	}
	return n, n.check()
}

func (n Network) check() error {
	if n.Fingerprint == "" {
		return errors.New("a network without a fingerprint (sum)")
	}
	for _, s := range []string{n.Name, n.Fingerprint, n.Preparation} {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			return fmt.Errorf("%q describes a network: must be UTF-8 without control characters", s)
		}
	}
	return nil
}

// JSON returns the text that ParseNetwork reads.
func (n Network) JSON() ([]byte, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	return json.Marshal(n)
}
