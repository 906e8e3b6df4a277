package serve

import (
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve/api"
)

// A collection that follows a folder says what it does, in /v1/info and in the metrics; another says nothing.
func TestFollowing(t *testing.T) {
	f := NewFolderSync("photos/", "/home/me/photos", nil)
	s := newServer(t, Options{Collections: []Collection{
		{Name: "things", Store: &storetest.Memory{Dim: 3}, FolderSync: f},
		{Name: "others", Store: &storetest.Memory{Dim: 3}}}})
	do := &caller{t: t, contract: newContract(t), s: s}
	began := time.Now().Truncate(time.Second)
	for _, c := range []struct {
		what            string
		step            func()
		want            api.Following
		current         bool
		metrics, absent []string
	}{
		{"at first", func() {}, api.Following{State: api.Comparing}, false,
			[]string{`photos{collection="things",state="to embed"} 0`, `failed{collection="things"} 0`,
				`last_success_timestamp_seconds{collection="things"} 0`}, []string{"changes_total{"}},
		{"embedding", func() { f.ReportEmbedding(120, 900) },
			api.Following{State: api.Embedding, Embedded: 120, ToEmbed: 900}, false,
			[]string{`photos{collection="things",state="to embed"} 900`,
				`photos{collection="things",state="embedded"} 120`}, nil},
		{"done", func() { f.ReportCompared(SyncResult{Changes: map[string]int{"added": 900, "removed": 0}}) },
			api.Following{State: api.Current},
			true, []string{`photos{collection="things",state="embedded"} 0`, `failed{collection="things"} 0`,
				`changes_total{collection="things",kind="added"} 900`,
				`changes_total{collection="things",kind="removed"} 0`},
			[]string{`last_success_timestamp_seconds{collection="things"} 0`}},
		{"failed", func() { f.ReportEmbedding(1, 2); f.ReportFailed(errors.New("no folder")) },
			api.Following{State: api.Failed, Error: "no folder"}, true, []string{`failed{collection="things"} 1`}, nil},
		{"again", func() { f.ReportCompared(SyncResult{Changes: map[string]int{"added": 2}}) },
			api.Following{State: api.Current}, true, []string{`failed{collection="things"} 0`,
				`changes_total{collection="things",kind="added"} 902`}, nil},
	} {
		c.step()
		var info api.Info
		do.get("/v1/info").want(t, 200).into(t, &info)
		got := *info.Collections[0].Following
		at, err := time.Parse(time.RFC3339, got.Current)
		if (got.Current != "") != c.current || c.current && (err != nil || at.Before(began)) {
			t.Errorf("%s: current is %q", c.what, got.Current)
		}
		got.Current, c.want.Folder = "", "photos/"
		if !reflect.DeepEqual(got, c.want) || info.Collections[1].Following != nil {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
		w := httptest.NewRecorder()
		s.metrics.handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for _, line := range c.metrics {
			if !strings.Contains(w.Body.String(), "\nkindred_sync_"+line+"\n") {
				t.Errorf("%s: %q is not in the metrics", c.what, line)
			}
		}
		for _, part := range c.absent {
			if strings.Contains(w.Body.String(), "kindred_sync_"+part) {
				t.Errorf("%s: %q is in the metrics", c.what, part)
			}
		}
	}
}
