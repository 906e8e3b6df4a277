package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/app/origin"
	"github.com/kindred-ml/kindred/app/cli/phrase"
	"github.com/kindred-ml/kindred/app/lookup"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/serve"
	towers "github.com/kindred-ml/kindred/words"
)

// towerFlag names the folder of a text tower.
type towerFlag struct{ dir string }

func (f *towerFlag) add(cmd *cobra.Command, usage string) {
	flagsOf(cmd).text(&f.dir, "words", "", usage, folders)
}

// towerNow is the help of --words of commands that search.
const towerNow = "folder of the text tower that was trained together with the network; default: the one that the " +
	"index remembers"

// open opens the tower for a lookup.
func (f *towerFlag) open(p *place, by string) (*towers.Tower, error) {
	m, err := p.network()
	if err != nil {
		return nil, err
	}
	if p.items != nil && p.items.Index != nil {
		return origin.TowerOfIndex(p.items.Index, m, f.dir)
	}
	if m == nil {
		return nil, usagef("--run is missing: the network that made the embeddings of the store")
	}
	if f.dir == "" {
		return nil, fmt.Errorf("words need the text tower that was trained together with the network: --words FOLDER")
	}
	return origin.TowerOf(m, by, f.dir)
}

// network returns the network of a gallery; nil of an index without one.
func (p *place) network() (*run.Model, error) {
	if p.items != nil {
		return p.items.Model()
	}
	return p.model()
}

// folderOf returns the folder of a network from a file or folder; "" for one by name.
func folderOf(network string) string {
	switch st, err := os.Stat(network); {
	case err != nil:
		return ""
	case st.IsDir():
		return network
	}
	return filepath.Dir(network)
}

// rememberTower finds the text tower of an index whose network is read from a place: the one that is named, or the one
// in the folder of the network.
func (f *towerFlag) rememberTower(a *app, m *run.Model, network string, to *index.Network) error {
	dir, named := f.dir, f.dir != ""
	if !named {
		dir = folderOf(network)
	}
	if dir == "" || !named && !towers.Is(dir) {
		return nil
	}
	_, err := origin.TowerOf(m, network, dir)
	if err == nil {
		err = origin.Remember(to, dir)
	}
	if err != nil && !named {
		fmt.Fprintf(a.err, "the index remembers no text tower: %s\n", escape.Text(err.Error()))
		return nil
	}
	return err
}

// phrases are the queries of a search.
type phrases struct {
	texts []string
	tower towerFlag
	all   []phrase.Phrase
}

func (f *phrases) add(cmd *cobra.Command) {
	flagsOf(cmd).repeated(&f.texts, "text", "words to look up, also if a file has this name; may be repeated", nothing)
	f.tower.add(cmd, towerNow)
}

// parse reads the arguments, and refuses flags that do not apply to them.
func (f *phrases) parse(args []string, o *outDir, same *sameFlags) (err error) {
	if f.all, err = phrase.Parse(args, f.texts); err != nil {
		return usageError(err)
	}
	switch plain, spoken := len(f.alone()) == len(f.all), f.wanted() != nil; {
	case !spoken && f.tower.dir != "":
		return usagef("--words %s applies to words, and every query is a photo", f.tower.dir)
	case plain:
	case o != nil && o.dir != "":
		return usagef("--out %s applies to photos alone: leave it out to look up words or sums", o.dir)
	case same.least > 0 || same.calibration != "" || same.given("strangers"):
		return usagef("--least, --strangers and --calibration apply to photos alone: the distances of words and sums " +
			"have no calibration")
	}
	return nil
}

// alone are the queries that are photos alone.
func (f *phrases) alone() (paths []string) {
	for _, p := range f.all {
		if p.IsPhoto() {
			paths = append(paths, p[0].Photo)
		}
	}
	return paths
}

// wanted lists the words of all queries, each once.
func (f *phrases) wanted() (all []string) {
	for _, p := range f.all {
		for _, t := range p {
			if t.Words != "" && !slices.Contains(all, t.Words) {
				all = append(all, t.Words)
			}
		}
	}
	return all
}

// queries returns the queries that are words or sums.
func (f *phrases) queries(ctx context.Context, a *app, look *lookupFlags, at *place, by rank.Distance) (
	list []lookup.Query, err error) {
	if len(f.alone()) == len(f.all) {
		return nil, nil
	}
	m, err := at.network()
	if err != nil {
		return nil, err
	}
	spoken, embedded := f.wanted(), (*mat.Dense)(nil)
	var tower *towers.Tower
	if spoken != nil {
		if tower, err = f.tower.open(at, look.by()); err != nil {
			return nil, trainedIsUsage(fmt.Errorf("%q is not a file, so it is looked up as words: %w", spoken[0], err))
		}
	}
	if !canSum(m, by) {
		return nil, usagef("words and sums need cosine distance, but the distance here is %s: --distance cosine, also "+
			"of kindred index create", by)
	}
	if tower != nil {
		if embedded, err = tower.Embed(ctx, spoken); err != nil {
			return nil, err
		}
		a.remark(tower.Cuts(spoken))
	}
	photos := map[string][]float32{}
	of := func(t phrase.Term) ([]float32, error) {
		if t.Words != "" {
			return embedded.Row(slices.Index(spoken, t.Words)), nil
		}
		if photos[t.Photo] == nil {
			v, err := single(ctx, a, *look, at, t.Photo)
			if err != nil {
				return nil, err
			}
			photos[t.Photo] = v
		}
		return photos[t.Photo], nil
	}
	for _, p := range f.all {
		if p.IsPhoto() {
			continue
		}
		v, err := p.Vector(of)
		if err != nil {
			return nil, err
		}
		list = append(list, lookup.Query{Name: p.String(), Path: p.Photo(), Vector: v})
	}
	return list, nil
}

// single embeds a photo of a sum.
func single(ctx context.Context, a *app, look lookupFlags, at *place, path string) ([]float32, error) {
	look.strict = true
	s, err := look.photos(ctx, a, at, []string{path}, "")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if n := s.Table.Rows(); n != 1 {
		return nil, fmt.Errorf("%s has %d photos: + and - join single photos", path, n)
	}
	return s.Table.X.Row(0), nil
}

// canSum reports whether vectors of unit length are compared with the items of a gallery as they should be.
func canSum(m *run.Model, by rank.Distance) bool {
	return by == rank.Cosine || m != nil && unitLength(m.Net.Spec())
}

// equipWords gives a collection the text tower that its index remembers, or the reason why it takes no words. What
// only the owner of the server can mend is in the log.
func equipWords(c *serve.Collection, p *place, m *run.Model, by rank.Distance, log *slog.Logger) {
	x := p.items.Index
	switch {
	case x == nil:
		c.NoWords = "a store of a database remembers no text tower"
	case m == nil:
		c.NoWords = "it has no network"
	case !canSum(m, by):
		c.NoWords = fmt.Sprintf("its distance is %s, not cosine", by)
	default:
		tower, err := origin.TowerOfIndex(x, m, "")
		if err == nil {
			c.Words = tower
			return
		}
		trained := (*origin.TrainedError)(nil)
		switch {
		case errors.As(err, &trained):
			c.NoWords = "its network was trained here, which moved photos away from where their words are"
		case x.Info().Network.Words == "":
			c.NoWords = "it remembers no text tower"
		default:
			c.NoWords = "its text tower cannot be opened; the log of the server says why"
			log.Warn("no words", "collection", c.Name, "error", err)
		}
	}
}

// unitLength reports whether a network's embeddings have unit length, so that all distances rank them alike.
func unitLength(s *nn.Spec) bool {
	return len(s.Layers) > 0 && s.Layers[len(s.Layers)-1].Kind == nn.L2Normalize
}

// wordsHelp describes the queries of a search.
var wordsHelp = strings.TrimSpace(`
An argument that names no file or folder, has no path separator and does not end like a
photo's name is words, and so is the value of --text. Words need the text tower that was
trained together with the network (--words), as CLIP and SigLIP have it. + and - between
arguments add and subtract photos and words: photo.jpg + "with laces" - red is the sum of
vectors of unit length, itself of unit length.`)
