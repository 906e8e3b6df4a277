package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestKeys(t *testing.T) {
	path, read, write := keyFile(t)
	keys, err := OpenKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), read) || strings.Contains(string(text), write) {
		t.Error("the file holds the keys themselves")
	}
	for key, want := range map[string]string{read: "reader read true", write: "writer write true", "": " read false",
		read[:len(read)-1]: " read false", read + " ": " read false"} {
		name, right, ok := keys.find(key)
		if have := fmt.Sprint(name, " ", right, " ", ok); have != want {
			t.Errorf("key %q: %s, want %s", key, have, want)
		}
	}
	// Of a changed file counts what can be read of it.
	other, line, err := NewKey("other", Write)
	if err != nil {
		t.Fatal(err)
	}
	change := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys.lastLook = time.Time{} // as if a second had gone by
	}
	change(line)
	if _, _, ok := keys.find(other); !ok {
		t.Error("a new key is not known")
	}
	if _, _, ok := keys.find(read); ok {
		t.Error("a key that was taken back is known")
	}
	third, thirdLine, err := NewKey("third", Read)
	if err != nil {
		t.Fatal(err)
	}
	change(thirdLine + "\nnonsense\n" + line)
	for key, name := range map[string]string{other: "other", third: "third"} {
		if _, _, ok := keys.find(key); !ok {
			t.Errorf("a damaged line took the key %s back, whose line stands beside it", name)
		}
	}
	change(thirdLine + "\nnonsense")
	if _, _, ok := keys.find(other); ok {
		t.Error("beside a damaged line a key is known that was taken back")
	}
	for _, text := range []string{"", "# all taken back\n", "nonsense"} {
		change(thirdLine)
		if _, _, ok := keys.find(third); !ok {
			t.Fatal("a key that was given back is not known")
		}
		change(text)
		if _, _, ok := keys.find(third); ok {
			t.Errorf("the last key is known after the file became %q", text)
		}
	}
	change(thirdLine)
	if _, _, ok := keys.find(third); !ok {
		t.Fatal("a key that was given back is not known")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	keys.lastLook = time.Time{}
	if _, _, ok := keys.find(third); ok {
		t.Error("a key is known without its file")
	}
}

func TestBadKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	for text, want := range map[string]string{
		"":                                   "has no keys",
		"# nothing\n":                        "has no keys",
		"a read\n":                           ":1: must be NAME",
		"\na own " + strings.Repeat("0", 64): ":2: right \"own\"",
		"a read kindred_secret":              "not the key itself",
		"a read " + strings.Repeat("0", 66):  "not a SHA-256",
		"a read " + strings.Repeat("g", 64):  "not a SHA-256",
		strings.Repeat("#"+strings.Repeat(" ", 1000)+"\n", 1200): "at most 1 MiB",
		"#" + strings.Repeat(" ", 1<<16) + "\na own\nb own\n":    ":2: must be NAME", // the first
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenKeys(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50q: %v, want %q", text, err, want)
		}
	}
	// A long comment takes no key from the file.
	text := "#" + strings.Repeat(" ", 1<<16-2) + "\na read " + strings.Repeat("0", 64) + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if k, err := OpenKeys(path); err != nil || len(k.get()) != 1 {
		t.Errorf("after a comment of 65,535 bytes: %v", err)
	}
	if _, _, err := NewKey("a b", Read); err == nil {
		t.Error("a key of two words")
	}
}

// TestOrigins: pages of other sites call the server if they are named, and cannot
// make a browser write otherwise.
func TestOrigins(t *testing.T) {
	s := newServer(t, Options{Origins: []string{"https://shop.example"}})
	for origin, allowed := range map[string]bool{"https://shop.example": true, "https://evil.example": false} {
		do := &caller{t: t, s: s, header: http.Header{"Origin": {origin}, "Access-Control-Request-Method": {"POST"}}}
		a := do.do("OPTIONS", "/v1/search", "", nil)
		if (a.StatusCode == 204) != allowed || (a.Header.Get("Access-Control-Allow-Origin") == origin) != allowed {
			t.Errorf("preflight of %s: %d %v", origin, a.StatusCode, a.Header)
		}
		do.header = http.Header{"Origin": {origin}, "Sec-Fetch-Site": {"cross-site"}}
		if a = do.json("POST", "/v1/search", map[string]any{"id": "red/001"}); (a.StatusCode == 200) != allowed {
			t.Errorf("search of %s: %d", origin, a.StatusCode)
		}
	}
	if _, err := New(Options{Origins: []string{"shop"}, Collections: s.opt.Collections}); err == nil {
		t.Error("an origin without a scheme was taken")
	}
}

func TestLoopbackHosts(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "localhost:7700": true, "127.0.0.1:1": true,
		"[::1]:7700": true,
		"[::1]":      true, "LOCALHOST.": true, "a.localhost:1": true, "kindred.example": false,
		"127.0.0.1.evil.example": false,
		"":                       false, "0.0.0.0": false, "192.168.1.1:7700": false, "localhost.evil": false} {
		if have := isLoopbackHost(host); have != want {
			t.Errorf("%q: %v", host, have)
		}
	}
}

func TestRate(t *testing.T) {
	b := newRateLimiter(10, 2)
	now := time.Now()
	for i, want := range []bool{true, true, false} {
		if wait := b.takeToken("a", now); (wait == 0) != want {
			t.Errorf("request %d waits %s", i, wait)
		}
	}
	if b.takeToken("b", now) != 0 {
		t.Error("one sender's requests count for another")
	}
	if b.takeToken("a", now.Add(100*time.Millisecond)) != 0 {
		t.Error("no token after a tenth of a second")
	}
	for i := range 3 * maxBuckets {
		b.takeToken(fmt.Sprint(i), now)
	}
	if len(b.bySender) > maxBuckets {
		t.Errorf("%d buckets", len(b.bySender))
	}
	b.takeToken("late", now.Add(time.Hour))
	if len(b.bySender) > 10 {
		t.Errorf("%d buckets an hour later", len(b.bySender))
	}
	for remote, want := range map[string]string{"1.2.3.4:5": "1.2.3.4", "[::ffff:1.2.3.4]:5": "1.2.3.4",
		"[2001:db8:1:2:3:4:5:6]:7": "2001:db8:1:2::/64", "pipe": "pipe"} {
		if have := senderOf(remote); have != want {
			t.Errorf("%s is counted as %s, want %s", remote, have, want)
		}
	}
}

// certificate writes a new certificate of a serial number for 127.0.0.1.
func certificate(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	b, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "EC PRIVATE KEY", Bytes: b}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTLS: a renewed certificate is used without a restart, a damaged one is not.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if _, err := LoadTLS(cert, key, nil); err == nil {
		t.Error("no file, and no error")
	}
	certificate(t, cert, key, 1)
	address, stop := startTLS(t, newServer(t, Options{}), cert, key)
	defer stop()
	serial := func() int64 {
		t.Helper()
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // its own certificate
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if serial() != 1 {
		t.Error("another certificate")
	}
	certificate(t, cert, key, 2)
	waitFor(t, func() bool { return serial() == 2 })
	if err := os.WriteFile(cert, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(watchInterval + 100*time.Millisecond)
	if n := serial(); n != 2 {
		t.Errorf("certificate %d after a damaged file", n)
	}
}
