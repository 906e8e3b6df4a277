package provenance

import (
	"fmt"
	"io"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/escape"
)

// ForceFlag is the flag that accepts embeddings of different networks.
const ForceFlag = "force-network"

// EmbeddingSource has embeddings that are compared with others: of a file, an index, a calibration or photos.
type EmbeddingSource struct {
	Name    string
	Network embedding.Network
	Dim     int    // 0: unknown
	Note    string // why the network is unknown; see embedding.Table.NetworkNote
}

// SourceOfTable returns the Party of the embeddings of a file.
func SourceOfTable(t *embedding.Table, name string) EmbeddingSource {
	p := EmbeddingSource{Name: name, Network: t.Network, Note: t.NetworkNote()}
	if t.X != nil {
		p.Dim = t.X.Cols
	}
	return p
}

// CheckSameNetwork returns an error if the embeddings of two parties were made by different networks, unless
// they are accepted. If only one network is known, it prints that to notes. Embeddings of different lengths
// are left to the caller, whose error says more.
func CheckSameNetwork(a, b EmbeddingSource, accept bool, notes io.Writer) error {
	if a.Dim != b.Dim && a.Dim*b.Dim != 0 {
		return nil
	}
	known, unknown := a, b
	if a.Network.Fingerprint == "" {
		known, unknown = b, a
	}
	tell := func(text string) { fmt.Fprintln(notes, "note: "+escape.Text(text)) }
	switch {
	case a.Network.Differs(b.Network):
		with := ""
		if a.Network.String() == b.Network.String() {
			with = ", another network of the same name"
		}
		text := fmt.Sprintf("%s: its embeddings are of %s, those of %s of %s%s: distances between them mean nothing",
			a.Name, a.Network, b.Name, b.Network, with)
		if !accept {
			return fmt.Errorf("%s; embed both with one network, or accept it with --%s", text, ForceFlag)
		}
		tell(text)
	case known.Network.Fingerprint == "" || a.Network.IsSame(b.Network):
	case unknown.Network.Fingerprint == "":
		if unknown.Note != "" {
			tell(unknown.Note)
		}
		tell(fmt.Sprintf("%s does not say which network made its embeddings: they are compared with those of %s, of %s",
			unknown.Name, known.Name, known.Network))
	default:
		tell(fmt.Sprintf("%s and %s name their networks in ways of different versions, so it is not known whether "+
			"they are the same", a.Name, b.Name))
	}
	return nil
}
