package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/store"
)

// Options control what a Server serves, and to whom. Collections or Review is required.
type Options struct {
	// Collections have different names. A request that names no collection means the
	// first.
	Collections []Collection
	// Keys are required of requests; nil lets everyone who can connect read and write.
	Keys *Keys
	// Local refuses requests for another host than this machine's loopback names.
	// Without keys it protects against DNS rebinding: another site's page in the user's
	// browser cannot send requests to this server.
	Local bool
	// Origins are the origins of pages that may call the server from a browser (CORS):
	// https://shop.example, or * for all.
	Origins []string
	// ReadOnly refuses all changes of collections.
	ReadOnly bool
	Limits   Limits
	// Proxies are the proxies in front of the server. A request through them counts for the
	// address in X-Forwarded-For.
	Proxies Proxies
	// Log gets a line for every request and for every failure; nil: no log.
	Log *slog.Logger
	// Page answers every GET outside /v1/ that has no other handler; nil: such paths are
	// not found. Everyone can read its files, even without a key.
	Page http.Handler
	// Review is the page of kindred discover or kindred clean, or its folder, to review
	// at /review. The decisions are kept beside it, in decisions.json. "" serves no review.
	Review string
	// Version is the program's version, for /v1/info.
	Version string
}

// Collection is a set of items that are searched together.
type Collection struct {
	// Name is the collection's name in requests: letters, digits, dots, dashes and
	// underscores.
	Name  string
	Store store.Store
	// Embedder makes vectors of pictures; nil: the collection takes vectors only.
	Embedder Embedder
	// TextEmbedder makes vectors of texts; nil: the collection takes no words, and NoTextReason says why.
	TextEmbedder TextEmbedder
	NoTextReason string
	// HasUnitLength reports that the vectors have unit length, so that sums can be looked up under any distance. Under
	// cosine distance they always can.
	HasUnitLength bool
	// Folders hold the pictures that may be shown, and that requests may name as an
	// item's path. Without folders, the server shows the picture at any path in the
	// store, but requests cannot give an item a new path.
	Folders []string
	// Uploads is the folder for added pictures, which may be shown too; "": added
	// pictures are embedded but not kept.
	Uploads string
	// Label is the column of the items' classes; "": the column label, if it exists.
	Label string
	// Calibration turns distances of the network's vectors into probabilities: for
	// neighbours, and to identify photos. Without it (nil), the server does neither.
	Calibration *decide.Calibration
	// CalibrationFile replaces Calibration by a file that may change while the server runs.
	CalibrationFile *CalibrationFile
	// FolderSync is the state of a collection that follows a folder; nil if it does not.
	FolderSync *FolderSync
}

// Limits bound the cost of requests. Zero values stand for the defaults.
type Limits struct {
	Body   int64 // bytes of a request's body; default 32 MiB
	Pixels int   // pixels of a picture; default imaging.DefaultMaxPixels, as in all commands
	Items  int   // items written, removed or listed by one request; default 1000
	K      int   // neighbours of one request; default 1000
	// requests per second of a key, or an address without one; default 50; below 0: no limit
	Rate        float64
	Burst       int // requests allowed at once above Rate; default 2 x Rate
	Concurrent  int // requests processed at once; default 64
	Connections int // connections open at once; default 1024
	// of Connections, kept by one address if all are taken; default a quarter, at least 16
	ConnectionsPerSender int
	Memory               int64         // bytes of bodies and pictures of all requests; default half of the memory limit
	Time                 time.Duration // time to receive a body, and again to process the request; default 30 s
	Drain                time.Duration // time for running requests when the server stops; default 20 s
}

// withDefaults returns the limits with defaults in place of zeros.
func (l Limits) withDefaults() Limits {
	setDefault(&l.Body, 32<<20)
	setDefault(&l.Pixels, imaging.DefaultMaxPixels)
	setDefault(&l.Items, 1000)
	setDefault(&l.K, 1000)
	setDefault(&l.Rate, 50)
	setDefault(&l.Burst, max(1, int(2*l.Rate)))
	setDefault(&l.Concurrent, 64)
	setDefault(&l.Connections, 1024)
	setDefault(&l.ConnectionsPerSender, min(l.Connections, max(16, l.Connections/4)))
	setDefault(&l.Memory, budget.Limit()/2)
	setDefault(&l.Time, 30*time.Second)
	setDefault(&l.Drain, 20*time.Second)
	return l
}

func setDefault[T comparable](v *T, standard T) {
	var zero T
	if *v == zero {
		*v = standard
	}
}

func (l *Limits) check() error {
	for _, n := range []struct {
		what  string
		value int64
	}{
		{"Body", l.Body}, {"Pixels", int64(l.Pixels)}, {"Items", int64(l.Items)}, {"K", int64(l.K)},
		{"Burst", int64(l.Burst)}, {"Concurrent", int64(l.Concurrent)}, {"Connections", int64(l.Connections)},
		{"ConnectionsPerSender", int64(l.ConnectionsPerSender)},
		{"Memory", l.Memory}, {"Time", int64(l.Time)}, {"Drain", int64(l.Drain)},
	} {
		if n.value < 0 {
			return fmt.Errorf("limit %s is %d: must be above 0, or 0 for the default", n.what, n.value)
		}
	}
	return nil
}

var collectionNameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// CollectionName returns the Collection.Name of the index in a folder: the folder's name without the
// ending .index, with an underscore for each character that names cannot have.
func CollectionName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, strings.TrimSuffix(filepath.Base(abs), ".index"))
	if name == "" || name[0] == '.' || name[0] == '-' {
		name = "_" + name
	}
	return name[:min(len(name), 100)]
}

func (o *Options) check() error {
	if len(o.Collections) == 0 && o.Review == "" {
		return errors.New("no collection to serve")
	}
	seen := map[string]bool{}
	for _, c := range o.Collections {
		switch {
		case !collectionNameForm.MatchString(c.Name):
			return fmt.Errorf("collection name %q: must be letters, digits, dots, dashes and underscores",
				c.Name)
		case seen[c.Name]:
			return fmt.Errorf("two collections have the name %s", c.Name)
		case c.Store == nil:
			return fmt.Errorf("collection %s has no store", c.Name)
		}
		seen[c.Name] = true
	}
	return o.Limits.check()
}
