package serve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/gif"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// attack is one request as it goes over the wire, and whether it can only be wrong:
// what chance has changed may still be right.
type attack struct {
	raw   []byte
	wrong bool
}

// attacker makes malformed requests.
type attacker struct {
	t        *testing.T
	rng      *rand.Rand
	pictures [][]byte
}

func newAttacker(t *testing.T) *attacker {
	a := &attacker{t: t, rng: rand.New(rand.NewPCG(1, 2))}
	im := plainPicture(16, 12, blue)
	var g, b, ti bytes.Buffer
	if gif.Encode(&g, im, nil) != nil || bmp.Encode(&b, im) != nil || tiff.Encode(&ti, im, nil) != nil {
		t.Fatal("no pictures")
	}
	a.pictures = [][]byte{encodePNG(t, im), encodeJPEG(t, im), g.Bytes(), b.Bytes(), ti.Bytes()}
	return a
}

func pick[T any](a *attacker, from ...T) T { return from[a.rng.IntN(len(from))] }

// http writes a request with a body of the right length.
func (a *attacker) http(method, target, kind string, body []byte, headers ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n", method, target)
	if kind != "" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", kind)
	}
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(body))
	b.Write(body)
	return b.Bytes()
}

// mutated changes a few bytes of b.
func (a *attacker) mutated(b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + a.rng.IntN(4) {
		if len(b) == 0 {
			return b
		}
		i := a.rng.IntN(len(b))
		switch a.rng.IntN(4) {
		case 0:
			b[i] ^= 1 << a.rng.IntN(8)
		case 1:
			b = slices.Delete(b, i, min(len(b), i+1+a.rng.IntN(8)))
		case 2:
			b = slices.Insert(b, i, byte(a.rng.IntN(256)))
		case 3:
			b = b[:i]
		}
	}
	return b
}

// json is a body that is nearly one.
func (a *attacker) json() attack {
	target := pick(a, "POST /v1/search", "POST /v1/explain", "POST /v1/items", "PUT /v1/items", "DELETE /v1/items",
		"PUT /v1/items/x")
	method, path, _ := strings.Cut(target, " ")
	if a.rng.IntN(2) == 0 {
		good := pick(a, `{"vector":[1,0,0],"k":3,"filter":"price < 3","columns":["label"]}`, `{"id":"red/001"}`,
			`{"items":[{"id":"a","vector":[1,2,3],"columns":{"label":"<script>","n":1e3,"b":true}}]}`, `{"ids":["q"]}`)
		return attack{raw: a.http(method, path, "application/json", a.mutated([]byte(good)))}
	}
	deep := strings.Repeat("[", 20_000)
	bad := pick(a, ``, `null`, `[]`, `"x"`, `{"vector":"x"}`, `{"vector":[1e999,0,0]}`, `{"vector":[1e39,0,0]}`,
		`{"vector":[1]}`, `{"vector":[1,2,3],"id":"x"}`, `{"k":-1,"vector":[1,2,3]}`, `{"k":1e9,"vector":[1,2,3]}`,
		`{"vector":[1,2,3],"k":1.5}`, `{"unknown":1}`, `{"vector":[1,2,3]}{}`, "\xff\xfe{}", deep, `{"vector":`+deep,
		`{"items":[]}`, `{"items":[{"id":"","vector":[1,2,3]}]}`, `{"items":[{"id":"a","vector":[]}]}`,
		`{"items":[{"id":"a\u0000b","vector":[1,2,3]}]}`, `{"items":[{"id":"a","vector":[1,2,3],"columns":{"x":[1]}}]}`,
		`{"items":[{"id":"a","vector":[1,2,3],"columns":{"":1}}]}`, `{"id":"`+strings.Repeat("x", 100_000)+`"}`,
		`{"items":[{"id":"a","vector":[1,2,3],"path":"/etc/passwd"}]}`, `{"ids":[]}`, `{"ids":[1]}`,
		`{"items":[{"id":"a","vector":[1,2,3]},{"id":"a","vector":[1,2,3]}]}`,
		`{"path":"../../etc/passwd","vector":[1,2,3]}`,
		`{"id":"red/001","filter":"`+strings.Repeat("(", 50_000)+`"}`, `{"columns":{"a":{"b":1}},"vector":[1,2,3]}`)
	return attack{a.http(method, path, "application/json", []byte(bad)), bad != `{"ids":[]}` || method != "PUT"}
}

// form is a body that is nearly one with a picture.
func (a *attacker) form() attack {
	target := pick(a, "POST /v1/search", "POST /v1/explain", "POST /v1/items", "PUT /v1/items/x")
	method, path, _ := strings.Cut(target, " ")
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	picture := a.pictures[a.rng.IntN(len(a.pictures))]
	part := func(name string, content []byte) {
		p, err := w.CreateFormFile(name, pick(a, "x.png", "../../etc/passwd", "<script>alert(1)</script>", ""))
		if err != nil {
			a.t.Error(err)
		}
		p.Write(content)
	}
	wrong := true
	switch a.rng.IntN(8) {
	case 0: // no picture
	case 1:
		part("image", picture)
		part("image", picture)
	case 2:
		part("image", picture)
		part("unknown", []byte("x"))
	case 3:
		for range maxParts + 1 {
			part("filter", nil)
		}
	case 4:
		part("image", picture)
		w.WriteField("k", pick(a, "x", "-1", "1e3", "99999999999999999999", "0"))
		w.WriteField("columns", pick(a, "[", "{", "\xff", `{"a":[]}`))
	case 5:
		part("image", picture)
		w.WriteField("filter", "price <")
		w.WriteField("columns", strings.Repeat("x", maxValue+1))
	case 6:
		part("image", nil)
	default:
		part("image", a.mutated(picture))
		wrong = false
	}
	kind := w.FormDataContentType()
	body := b.Bytes() // without its end
	switch a.rng.IntN(4) {
	case 0:
		kind, wrong = pick(a, "multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=x",
			"multipart/form-data; boundary=other", "multipart/form-data; boundary=\"\x00\""), true
	case 1:
		body, wrong = a.mutated(body), false
	case 2:
		w.Close()
		body = b.Bytes()
	}
	return attack{a.http(method, path, kind, body), wrong}
}

// bomb is a picture that is small, and announces or holds much.
func (a *attacker) bomb() attack {
	var file []byte
	switch a.rng.IntN(4) {
	case 0: // 100,000 x 100,000 pixels
		file = slices.Clone(a.pictures[0])
		binary.BigEndian.PutUint32(file[16:], 100_000)
		binary.BigEndian.PutUint32(file[20:], 100_000)
		binary.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(file[12:29]))
	case 1: // 2^31 - 1 pixels wide
		file = slices.Clone(a.pictures[0])
		binary.BigEndian.PutUint32(file[16:], 1<<31-1)
		binary.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(file[12:29]))
	case 2: // a GIF of 65,535 x 65,535
		file = slices.Clone(a.pictures[2])
		binary.LittleEndian.PutUint16(file[6:], 65_535)
		binary.LittleEndian.PutUint16(file[8:], 65_535)
	default: // really 2000 x 2000 in a few kilobytes
		file = manyPixels(a.t)
	}
	kind, body := encodeForm(a.t, file)
	method, path := pick(a, "POST", "PUT"), "/v1/items"
	if method == "POST" {
		path = pick(a, "/v1/search", "/v1/explain", "/v1/items")
	}
	return attack{a.http(method, path, kind, body), true}
}

var manyPixels = func() func(t testing.TB) []byte {
	var once sync.Once
	var file []byte
	return func(t testing.TB) []byte {
		once.Do(func() { file = encodePNG(t, image.NewGray(image.Rect(0, 0, 2000, 2000))) })
		return file
	}
}()

// path is one that leads, or pretends to lead, elsewhere.
func (a *attacker) path() attack {
	what := pick(a, "/../../etc/passwd", "/v1/items/../../../etc/passwd/picture",
		"/v1/items/..%2f..%2fetc%2fpasswd/picture",
		"/v1/items/%2e%2e/picture", "//etc/passwd", "/v1//items", "/v1/items/./x", "/v1/items/x/picture/..",
		"/v1/items/%00/picture", "/v1/items/a\\b/picture", "/v1/items/%5c..%5c..%5cx/thumbnail", "/v1/items/%ff%fe",
		"/v1/items/"+strings.Repeat("a", 5000), "/v1/items/nothing/thumbnail?size=-1", "/v1/map/points?version=-1",
		"/v1/map/ids?version=1&from=-5", "/v1/items?limit=99999999999999999999", "/v1/items?filter=%00", "/v2/items",
		"/v1/items?collection=../x", "/.git/config", "/v1/items/file:%2f%2f%2fetc%2fpasswd/picture", "/wp-admin",
		"/v1/items/%252e%252e%252f/picture", "/v1/map/column?version=0&name=%3Cscript%3E", "/v1/items/x;y=1",
		"/openapi.json/")
	return attack{a.http(pick(a, "GET", "HEAD"), what, "", nil), true}
}

// header is a request with something wrong before its body.
func (a *attacker) header() attack {
	ok := []byte(`{"vector":[1,0,0]}`)
	const path = "/v1/search"
	kind := "application/json"
	switch a.rng.IntN(9) {
	case 0:
		return attack{a.http("POST", path, kind, ok, "X-Large: "+strings.Repeat("x", 48<<10)), true}
	case 1:
		var many []string
		for i := range 3000 {
			many = append(many, fmt.Sprintf("X-%d: aaaaaaaaaaaaaaaa", i))
		}
		return attack{a.http("POST", path, kind, ok, many...), true}
	case 2:
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		w.Write(make([]byte, 1<<20))
		w.Close()
		return attack{a.http("POST", path, kind, z.Bytes(), "Content-Encoding: "+pick(a, "gzip", "br", "x")), true}
	case 3:
		return attack{a.http("POST", path, pick(a, "text/html", "", "application/json; =", "image/png", "*/*", "x",
			"application/x-www-form-urlencoded"), ok), true}
	case 4:
		return attack{a.http(pick(a, "PATCH", "TRACE", "DELETE", "OPTIONS", "BREW", "GET"), path, kind, nil), true}
	case 5:
		return attack{fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s\r\n\r\n", path,
			pick(a, "-1", "x", "99999999999", "1, 2", "18446744073709551616")), true}
	case 6:
		return attack{fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n%s", path, pick(a, "zz\r\nxx\r\n0\r\n\r\n", "ffffffffffffffffff\r\n",
			"5\r\nabc\r\n0\r\n\r\n", "0\r\n\r\n")), true}
	case 7:
		junk := make([]byte, 1+a.rng.IntN(200))
		for i := range junk {
			junk[i] = byte(a.rng.IntN(256))
		}
		return attack{append(junk, "\r\n\r\n"...), true}
	}
	return attack{pick(a, []byte("GET / HTTP/x\r\n\r\n"), []byte("GET /v1/info HTTP/1.1\r\n\r\n"),
		[]byte("GET http://[::1/v1 HTTP/1.1\r\nHost: x\r\n\r\n"),
		[]byte("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		[]byte("CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
		[]byte("GET /v1/info HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
		[]byte("GET /v1/info HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n")), true}
}

func (a *attacker) next() attack {
	switch a.rng.IntN(10) {
	case 0, 1, 2, 3:
		return a.json()
	case 4, 5, 6:
		return a.form()
	case 7:
		return a.path()
	case 8:
		return a.header()
	}
	return a.bomb()
}

// send sends an attack over a connection of its own and returns the status, 0 if the
// server closed the connection without one.
func (at attack) send(t testing.TB, address string) int {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err) // goroutines of a test call this
		return 0
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	go c.Write(at.raw) // the answer may come before all is sent
	method, _, _ := bytes.Cut(at.raw, []byte(" "))
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: string(method)})
	if err != nil {
		return 0
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return res.StatusCode
}

// TestHostile sends 10,000 malformed requests, eight at a time: each is refused with a
// status of 4xx, none fails or panics, memory stays within bounds, and the server
// goes on.
func TestHostile(t *testing.T) {
	s := newServer(t, Options{Local: true, Limits: Limits{Body: 4 << 20, Pixels: 1_000_000, Memory: 64 << 20,
		Time: 30 * time.Second}})
	address := startServer(t, s)
	want, clients := 10_000, 8
	if testing.Short() {
		want = 1000
	}
	a := newAttacker(t)
	var mu sync.Mutex
	refused, taken, silent, sent := 0, 0, 0, 0
	var worst uint64
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for {
				mu.Lock()
				if refused >= want || t.Failed() {
					mu.Unlock()
					return
				}
				at := a.next()
				if sent++; sent%500 == 0 {
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					worst = max(worst, m.HeapAlloc)
				}
				mu.Unlock()
				status := at.send(t, address)
				mu.Lock()
				switch {
				case status >= 400 && status < 500:
					refused++
				case status == 0:
					silent++
					t.Errorf("no answer to %.300q", at.raw)
				case status >= 500 || at.wrong || status >= 300:
					t.Errorf("%d for %.600q", status, at.raw)
				default:
					taken++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d refused, %d right after all, heap at most %d MiB", refused, taken, worst>>20)
	if worst > 400<<20 {
		t.Errorf("the heap grew to %d MiB", worst>>20)
	}
	do := &caller{t: t, s: s}
	if text := string(do.get("/metrics").want(t, 200).body); !strings.Contains(text, "\nkindred_panics_total 0\n") {
		t.Error("a handler panicked")
	}
	do.json("POST", "/v1/search", map[string]any{"id": "red/001"}).want(t, 200)
	if used := s.memory.bytesInUse(); used != 0 {
		t.Errorf("%d bytes of the account are still taken", used)
	}
}

// TestSlowClients: clients that send a byte now and then neither keep others out nor
// stay.
func TestSlowClients(t *testing.T) {
	s := newServer(t, Options{Limits: Limits{Concurrent: 2}})
	address := startServer(t, s)
	for range 50 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
			"Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
		// The server says this when it begins to read the body.
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
			t.Fatal(line, err)
		}
	}
	(&caller{t: t, s: s}).json("POST", "/v1/search", map[string]any{"id": "red/001"}).want(t, 200)

	address = startServer(t, newServer(t, Options{Limits: Limits{Concurrent: 2, Time: 300 * time.Millisecond}}))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			status, _, _, err := sendSlowly(address, "POST", "/v1/search", "application/json")
			if err != nil || status != 408 {
				t.Errorf("%d for a slow body, %v", status, err)
			}
		})
	}
	wg.Wait()
}

// TestMarkupStaysText: names with markup come back as text, and JSON has no tag.
func TestMarkupStaysText(t *testing.T) {
	s := newServer(t, Options{})
	do := &caller{t: t, s: s}
	const evil = `<script>alert("x")</script>&<!--`
	do.json("POST", "/v1/items", map[string]any{"items": []any{map[string]any{"id": evil, "vector": []int{9, 9, 9},
		"columns": map[string]any{"label": evil, evil: evil}}}}).want(t, 201)
	for _, a := range []*answer{do.json("POST", "/v1/search", map[string]any{"id": evil}),
		do.json("POST", "/v1/search", map[string]any{"vector": []int{9, 9, 9}}),
		do.json("POST", "/v1/explain", map[string]any{"vector": []int{9, 9, 9}}),
		do.get("/v1/items"), do.get("/v1/info"), do.json("POST", "/v1/search", map[string]any{"id": evil + "?"})} {
		if bytes.ContainsAny(a.body, "<>&") {
			t.Errorf("markup in %s", a.body)
		}
		if !strings.Contains(a.Header.Get("Content-Type"), "json") ||
			a.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("header %v", a.Header)
		}
	}
	var it struct {
		Columns map[string]any `json:"columns"`
	}
	do.get("/v1/items/%3Cscript%3Ealert(%22x%22)%3C%2Fscript%3E&%3C!--").want(t, 200).into(t, &it)
	if it.Columns["label"] != evil {
		t.Errorf("the class came back as %q", it.Columns["label"])
	}
}

// TestManySmallItems: what is small as text and large in memory is refused before it
// is.
func TestManySmallItems(t *testing.T) {
	s := newServer(t, Options{Limits: Limits{Memory: 256 << 20}})
	do := &caller{t: t, s: s}
	body := []byte(`{"items":[` + strings.Repeat("{},", 4<<20) + `{}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do.do("PUT", "/v1/items", "application/json", body).want(t, 413, "too_large")
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 100 {
		t.Errorf("%d MiB for a body of %d", n, len(body)>>20)
	}
	small := newServer(t, Options{Limits: Limits{Memory: 1 << 20}})
	do.s = small
	do.do("PUT", "/v1/items", "application/json", body[:600<<10]).want(t, 413, "too_large")
	if n := small.memory.bytesInUse(); n != 0 {
		t.Errorf("%d bytes of the account are still taken", n)
	}
}
