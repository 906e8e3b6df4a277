package remotedata

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// peakMemory is the most memory that is in use while f runs.
func peakMemory(f func()) int64 {
	var most atomic.Uint64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	look := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most.Store(max(most.Load(), m.HeapInuse+m.StackInuse))
	}
	runtime.GC()
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				look()
			}
		}
	})
	f()
	close(stop)
	wg.Wait()
	look()
	return int64(most.Load())
}

// pageStart is that of a page, and next names the page after it.
const pageStart = `<?xml version="1.0"?><ListBucketResult>`

func nextToken(token any) string {
	return fmt.Sprintf("<IsTruncated>true</IsTruncated><NextContinuationToken>%v</NextContinuationToken>"+
		"</ListBucketResult>", token)
}

func pageKey(key any) string {
	return fmt.Sprintf(`<Contents><Key>%v</Key><ETag>"d41d8cd98f00b204e9800998ecf8427e"</ETag><Size>1</Size></Contents>`,
		key)
}

// lyingAnswers are answers of servers that make whoever asks wait or swell, by what they do. write
// returns false when the asker is gone.
func lyingAnswers() map[string]struct {
	answer func(page int, write func(string) bool)
	want   string // in the error; "": of the memory
} {
	full := func(page int, key string) string {
		var b strings.Builder
		for k := range 1000 {
			b.WriteString(pageKey(fmt.Sprintf(key, page, k)))
		}
		return b.String()
	}
	longKey := strings.Repeat("k", 1025)
	type lie = struct {
		answer func(page int, write func(string) bool)
		want   string
	}
	once := func(page func(int) string) func(int, func(string) bool) {
		return func(n int, write func(string) bool) { write(pageStart + page(n)) }
	}
	turn := func(key string) func(int, func(string) bool) {
		return once(func(n int) string { return full(n, key) + nextToken(n) })
	}
	endless := func(start, more string) func(int, func(string) bool) {
		more = strings.Repeat(more, 1+(64<<10)/len(more))
		return func(_ int, write func(string) bool) {
			for ok := write(pageStart + start); ok; ok = write(more) {
			}
		}
	}
	return map[string]lie{
		"keys without end":             {turn("a/%09d-%d.png"), ""},
		"marks of folders without end": {turn("a/%09d-%d/"), ""},
		"folders without end":          {turn("a/%d/%d/b/c/d/e/f/1.png"), ""},
		"the same page again": {once(func(int) string { return pageKey("a/1.png") + nextToken("x") }),
			"twice"},
		"the same token again": {once(func(page int) string { return pageKey(page) + nextToken("x") }),
			"own next page"},
		"empty pages, one name": {once(func(int) string { return nextToken("x") }), "its own next page"},
		"empty pages":           {once(func(page int) string { return nextToken(page) }), "no more than 0 keys"},
		"a key a page": {once(func(page int) string { return pageKey(page) + nextToken(page) }),
			"with no more than"},
		"pages in turns": {once(func(page int) string { return pageKey(page%2) + nextToken(page) }),
			"twice"},
		"a long key":                 {once(func(int) string { return pageKey(longKey) + nextToken(1) }), "1025 bytes"},
		"a text without end":         {endless("<Contents><Key>", "x"), "larger than a page"},
		"spaces without end":         {endless("", " "), "larger than a page"},
		"a tag without end":          {endless("<", "x"), "larger than a page"},
		"an attribute":               {endless("<Contents a=\"", "x"), "larger than a page"},
		"a comment":                  {endless("<!--", "x"), "larger than a page"},
		"objects without a key":      {endless("", "<Contents/>"), "larger than a page"},
		"tags within tags":           {endless("", "<a>"), "larger than a page"},
		"folders, one after another": {endless("", "<CommonPrefixes/>"), "larger than a page"},
		"a key of entities":          {endless("<Contents><Key>", "&amp;"), "larger than a page"},
	}
}

// TestListingsEnd: whatever a server of S3 says, a list comes to an end within the memory.
func TestListingsEnd(t *testing.T) {
	const limit = 64 << 20
	budgettest.Limit(t, limit)
	base := peakMemory(func() {})
	for name, lie := range lyingAnswers() {
		page := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			page++
			lie.answer(page, func(s string) bool { _, err := w.Write([]byte(s)); return err == nil })
		}))
		t.Setenv("AWS_ENDPOINT_URL_S3", s.URL)
		t.Setenv("AWS_ACCESS_KEY_ID", "me")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
		t.Setenv("AWS_REGION", "us-east-1")
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		var err error
		begun := time.Now()
		most := peakMemory(func() { _, err = Open(ctx, "s3://bucket/a", data.OpenOptions{}) })
		t.Logf("%s: %d pages, %v, %s: %v", name, page, time.Since(begun).Round(time.Millisecond),
			budget.Format(most-base), err)
		var over *budget.Error
		switch {
		case ctx.Err() != nil:
			t.Errorf("%s: no end in 2 minutes", name)
		case err == nil, lie.want != "" && !strings.Contains(err.Error(), lie.want),
			lie.want == "" && (!errors.As(err, &over) || !strings.Contains(err.Error(), "longer prefix")),
			!strings.Contains(err.Error(), "s3://bucket/a"):
			t.Errorf("%s: %v", name, err)
		}
		if most-base > limit*14/10 {
			t.Errorf("%s: took %s", name, budget.Format(most-base))
		}
		stop()
		s.Close()
	}
}

// TestLongAnswers: errors say of what a server answers the beginning and the end, and whether they
// last, however much it is.
func TestLongAnswers(t *testing.T) {
	long := strings.Repeat("é", 32<<10)
	for want, c := range map[string]struct {
		status int
		text   string
	}{
		`parsing time "\xc3`: {200, pageStart + "<Contents><Key>a/b</Key><LastModified>" + long +
			"</LastModified></Contents>" +
			"</ListBucketResult>"},
		"no credentials": {403, "<Error><Code>AccessDenied</Code><Message>" + long + "</Message></Error>"},
		"éé":             {404, "<Error><Code>NoSuchBucket</Code><Message>" + long + "</Message></Error>"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.text)
		}))
		t.Setenv("AWS_ENDPOINT_URL_S3", s.URL)
		t.Setenv("AWS_REGION", "us-east-1")
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		t.Setenv("HOME", t.TempDir())
		_, err := Open(t.Context(), "s3://bucket/a", data.OpenOptions{})
		s.Close()
		if err == nil || len(err.Error()) > 700 || !utf8.ValidString(err.Error()) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %.800v", want, err)
			continue
		}
		if lasts := errors.As(err, new(permanentError)); lasts != (c.status >= 400) {
			t.Errorf("%v lasts: %v", err, lasts)
		}
	}
}

// TestListingStops: a list that is no longer wanted is an error and no short list.
func TestListingStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	page := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page++; page == 3 {
			stop()
		}
		fmt.Fprint(w, pageStart+pageKey(fmt.Sprintf("a/c/%d.png", page))+nextToken(page))
	}))
	defer s.Close()
	t.Setenv("AWS_ENDPOINT_URL_S3", s.URL)
	t.Setenv("AWS_REGION", "us-east-1")
	if d, err := Open(ctx, "s3://bucket/a", data.OpenOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", d, err)
	}
}

// TestWebListsEnd: so do the lists of web servers.
func TestWebListsEnd(t *testing.T) {
	const limit = 64 << 20
	budgettest.Limit(t, limit)
	base := peakMemory(func() {})
	for name, line := range map[string]string{
		"lines without end": "a/%d.png\n", "folders": "a/%d/b/c/d/1.png\n", "shards": "s-%d-{0..9}.tar\n",
		"one line": "x", "comments": "# %d\n",
	} {
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked++; r.Method == http.MethodHead {
				return
			}
			for i := 0; ; i++ {
				text := line
				if strings.Contains(line, "%d") {
					text = fmt.Sprintf(line, i)
				}
				if _, err := w.Write([]byte(text)); err != nil {
					return
				}
			}
		}))
		var err error
		most := peakMemory(func() { _, err = Open(t.Context(), s.URL+"/list.txt", data.OpenOptions{}) })
		var over *budget.Error
		if !errors.As(err, &over) || !strings.Contains(err.Error(), "list.txt") || asked > 10 {
			t.Errorf("%s, %d times asked: %v", name, asked, err)
		}
		if most-base > limit*14/10 {
			t.Errorf("%s: took %s", name, budget.Format(most-base))
		}
		s.Close()
	}
}

// TestSentElsewhere: a server without TLS sends nobody on to another host without it.
func TestSentElsewhere(t *testing.T) {
	asked, sent := 0, 0
	there := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer there.Close()
	to := strings.Replace(there.URL, "127.0.0.1", "localhost", 1)
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent++
		http.Redirect(w, r, to, http.StatusFound)
	}))
	defer here.Close()
	for n, what := range []string{"/set.zip", "/list.txt", "/s.tar"} {
		_, err := Open(t.Context(), here.URL+what, data.OpenOptions{})
		if err == nil || !strings.Contains(err.Error(), what+": redirected to "+to) || asked > 0 || sent != n+1 {
			t.Errorf("%s: %v; asked %d times there, and %d here", what, err, asked, sent)
		}
	}
}
