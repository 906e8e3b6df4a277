package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/serve/api"
)

// decisionsFile is the name of the file of decisions, beside the page.
const decisionsFile = "decisions.json"

// reviewState is a review page with its decisions. Decisions are written to a file before
// the request is answered.
type reviewState struct {
	page  *review.Saved
	file  string
	write func(path string, write func(io.Writer) error) error

	mu      sync.Mutex
	decided api.Decisions
}

// decisionsDocument is the file of decisions, with the key of their page.
type decisionsDocument struct {
	Page string `json:"page"`
	api.Decisions
}

// openReview reads the page at path and its decisions so far. Unless the server is read-only, it checks
// that decisions can be written.
func openReview(path string, readOnly bool) (*reviewState, error) {
	page, err := review.Read(path)
	if err != nil {
		return nil, err
	}
	v := &reviewState{page: page, file: filepath.Join(filepath.Dir(page.File), decisionsFile), write: atomic.WriteFile,
		decided: api.Decisions{Done: map[string]api.Decision{}, History: []api.Step{}}}
	if err := checkNoLink(v.file); err != nil && !readOnly {
		return nil, err
	}
	text, err := fileinfo.ReadFile(v.file)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	} else if err != nil {
		return nil, err
	}
	var k decisionsDocument
	if err := strictjson.UnmarshalLoose(text, &k); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to begin anew", v.file, err)
	}
	if k.Page != page.Key {
		return nil, fmt.Errorf("%s has decisions for another page than %s: remove it to begin anew, or serve the page "+
			"of the decisions", v.file, page.File)
	}
	if err := v.checkDecisions(&k.Decisions); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to begin anew", v.file, err)
	}
	v.decided = k.Decisions
	return v, nil
}

// ReadDecisions reads the decisions that a server has kept beside the page of kindred discover or kindred clean at a
// path. Done is empty if it has kept none.
func ReadDecisions(path string) (api.Decisions, error) {
	v, err := openReview(path, true)
	if err != nil {
		return api.Decisions{}, err
	}
	return v.decided, nil
}

// checkNoLink refuses a link in place of a file that the server writes, because it may lead out of the folder.
func checkNoLink(path string) error {
	if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a link, but decisions must be a file beside the page: put the file itself there, "+
			"or remove the link to begin anew", path)
	}
	return nil
}

// maxLabelBytes is the most bytes of a label, maxSteps the most decisions that can be undone, and
// maxVersion the largest number of a version.
const (
	maxLabelBytes = 1000
	maxSteps      = 100_000
	maxVersion    = 1<<53 - 1
)

// checkDecisions refuses invalid decisions, and replaces nil maps and lists by empty ones.
func (v *reviewState) checkDecisions(d *api.Decisions) error {
	card := func(k int) error {
		if k < 0 || k >= v.page.Cards {
			return fmt.Errorf("a decision has card %d, but there are %d cards", k, v.page.Cards)
		}
		return nil
	}
	one := func(of api.Decision) error {
		named := of.Action == "relabel" || of.Action == "split"
		switch {
		case !named && of.Action != "accept" && of.Action != "drop":
			return fmt.Errorf("action %q: must be accept, relabel, split or drop", escape.ClipTo(of.Action, 32))
		case named != (of.Label != ""), len(of.Label) > maxLabelBytes, !utf8.ValidString(of.Label):
			return fmt.Errorf("relabel and split need a label of at most %d bytes; other actions have none",
				maxLabelBytes)
		}
		return checkTime(of.At)
	}
	if d.Done == nil {
		d.Done = map[string]api.Decision{}
	}
	if d.History == nil {
		d.History = []api.Step{}
	}
	for name, of := range d.Done {
		k, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(k) != name {
			return fmt.Errorf("a decision has card %q: must be a number", escape.ClipTo(name, 32))
		}
		if err := errors.Join(card(k), one(of)); err != nil {
			return err
		}
	}
	if len(d.History) > maxSteps {
		return fmt.Errorf("%d decisions to undo: must be at most %d", len(d.History), maxSteps)
	}
	for _, s := range d.History {
		err := errors.Join(card(s.Card), checkTime(s.At))
		if s.Previous != nil {
			err = errors.Join(err, one(*s.Previous))
		}
		if err != nil {
			return err
		}
	}
	if d.NextCard < 0 || d.NextCard > 0 && d.NextCard >= v.page.Cards {
		return fmt.Errorf("the next card is %d of %d", d.NextCard, v.page.Cards)
	}
	if d.Version < 0 || d.Version > maxVersion {
		return fmt.Errorf("version %d: must be 0 to %d", d.Version, maxVersion)
	}
	return nil
}

// checkTime checks the time of a decision.
func checkTime(at string) error {
	if _, err := time.Parse(time.RFC3339, at); err != nil {
		return fmt.Errorf("the time of a decision is %q: must have the form 2006-01-02T15:04:05Z",
			escape.ClipTo(at, 64))
	}
	return nil
}

// storeDecisions stores decisions, if they follow the current version.
func (v *reviewState) storeDecisions(d api.Decisions) (api.Decisions, error) {
	if err := v.checkDecisions(&d); err != nil {
		return d, invalid.newProblem("GET /v1/review has the cards; send decisions in the form of GET "+
			"/v1/review/decisions.", "%v",
			err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if d.Version != v.decided.Version {
		return d, conflict.newProblem("Get the decisions and decide again.", "the current version is %d, but these "+
			"decisions follow version %d", v.decided.Version, d.Version)
	}
	if d.Version == maxVersion {
		return d, invalid.newProblem(
			"Stop the server, write a smaller version into "+decisionsFile+" and start it again.",
			"version %d is the last possible one", d.Version)
	}
	d.Version++
	if err := checkNoLink(v.file); err != nil {
		return d, err
	}
	err := v.write(v.file, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(decisionsDocument{v.page.Key, d})
	})
	if err != nil {
		return d, err
	}
	v.decided = d
	return d, nil
}

func (v *reviewState) decisions() api.Decisions {
	v.mu.Lock()
	defer v.mu.Unlock()
	d := v.decided
	d.Done = maps.Clone(d.Done)
	return d
}

// requireReview returns the review page, if there is one.
func (s *Server) requireReview() (*reviewState, error) {
	if s.review == nil {
		return nil, notFound.newProblem(
			"Start the server with the folder of kindred discover or kindred clean to review.",
			"this server has no review")
	}
	return s.review, nil
}

// reviewPage answers GET /v1/review: the cards to decide about.
func (s *Server) reviewPage(w http.ResponseWriter, _ *http.Request) error {
	v, err := s.requireReview()
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.Review{Title: v.page.Title, Lead: v.page.Lead, Key: v.page.Key,
		Cards: v.page.Cards, Data: v.page.Data})
}

// reviewDecisions answers GET /v1/review/decisions.
func (s *Server) reviewDecisions(w http.ResponseWriter, _ *http.Request) error {
	v, err := s.requireReview()
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, v.decisions())
}

// sentDecisions is an api.Decisions in which a part may be missing.
type sentDecisions struct {
	Version *int64                   `json:"version"`
	Done    *map[string]api.Decision `json:"done"`
	Past    *[]api.Step              `json:"past"`
	At      *int                     `json:"at"`
}

// complete refuses decisions with a part that is missing or null. If it were taken for empty, it would undo
// earlier decisions.
func (d *sentDecisions) complete() (api.Decisions, error) {
	for _, part := range []struct {
		name    string
		missing bool
	}{{"version", d.Version == nil}, {"done", d.Done == nil}, {"past", d.Past == nil}, {"at", d.At == nil}} {
		if part.missing {
			return api.Decisions{}, invalid.newProblem("Send all of version, done, past and at, in the form of GET "+
				"/v1/review/decisions.", "the decisions have no %q", part.name)
		}
	}
	return api.Decisions{Version: *d.Version, Done: *d.Done, History: *d.Past, NextCard: *d.At}, nil
}

// reviewDecide answers PUT /v1/review/decisions.
func (s *Server) reviewDecide(w http.ResponseWriter, r *http.Request) error {
	v, err := s.requireReview()
	if err != nil {
		return err
	}
	var sent sentDecisions
	if err := readJSON(r, &sent); err != nil {
		return err
	}
	d, err := sent.complete()
	if err != nil {
		return err
	}
	d, err = v.storeDecisions(d)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, d)
}
