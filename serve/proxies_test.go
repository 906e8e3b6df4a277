package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Proxies are named by address, network or the word loopback; what would believe everyone, or
// leaves open which network is meant, is refused.
func TestParseProxies(t *testing.T) {
	got, err := ParseProxies([]string{"10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "::2", "loopback"})
	if want := "[10.0.0.0/8 192.0.2.7/32 2001:db8::/32 ::2/128 127.0.0.0/8 ::1/128]"; err != nil ||
		fmt.Sprint(got) != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
	if got, err := ParseProxies(nil); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{"": "must be an address", "proxy.example": "must be an address",
		"10.0.0.1:80": "must be an address", "10.0.0.0/33": "must be an address", "fe80::1%eth0": "must be an address",
		"::ffff:10.0.0.0/104": "must be an address", "0.0.0.0/0": "it would trust all addresses", "::/0": "it would " +
			"trust all addresses",
		"10.0.0.1/8": "the network is 10.0.0.0/8"} {
		if _, err := ParseProxies([]string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]bool{"loopback": true, "127.0.0.1": true, "::1": true, "10.0.0.0/8": false} {
		if p, err := ParseProxies([]string{text}); err != nil || p.HasLoopback() != want {
			t.Errorf("%s: %v, %v", text, p.HasLoopback(), err)
		}
	}
}

// A request is of its peer; through a proxy, of the last address that is no proxy's. What its
// sender wrote before that counts for nothing, and neither does what is no address.
func TestForwarded(t *testing.T) {
	proxies, err := ParseProxies([]string{"10.0.0.0/8", "loopback", "2001:db8:1::/48"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		peer string
		said []string
		want string
	}{
		{"192.0.2.1:5", []string{"198.51.100.1"}, "192.0.2.1:5"}, // no proxy
		{"10.0.0.1:5", nil, "10.0.0.1:5"},
		{"10.0.0.1:5", []string{""}, "10.0.0.1:5"},
		{"10.0.0.1:5", []string{"198.51.100.1"}, "198.51.100.1"},
		{"[::ffff:10.0.0.1]:5", []string{"198.51.100.1"}, "198.51.100.1"},
		{"127.0.0.1:5", []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1"}, // the first is made up
		{"127.0.0.1:5", []string{"203.0.113.9", "198.51.100.1"}, "198.51.100.1"},
		{"127.0.0.1:5", []string{"203.0.113.9,198.51.100.1 ,10.2.3.4,127.0.0.1"}, "198.51.100.1"},
		{"127.0.0.1:5", []string{"198.51.100.1, 10.2.3.4"}, "198.51.100.1"},
		{"127.0.0.1:5", []string{"10.9.9.9, 10.2.3.4"}, "10.9.9.9"},              // all are proxies
		{"127.0.0.1:5", []string{"198.51.100.1, unknown, 10.2.3.4"}, "10.2.3.4"}, // who sent it is not known
		{"127.0.0.1:5", []string{"198.51.100.1, unknown"}, "127.0.0.1:5"},
		{"127.0.0.1:5", []string{"198.51.100.1:4711"}, "198.51.100.1"},
		{"127.0.0.1:5", []string{"[2001:db8::7]:4711"}, "2001:db8::7"},
		{"127.0.0.1:5", []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"127.0.0.1:5", []string{"2001:db8::7"}, "2001:db8::7"},
		{"127.0.0.1:5", []string{"2001:db8::7, 2001:db8:1::7"}, "2001:db8::7"},
		{"127.0.0.1:5", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"pipe", []string{"198.51.100.1"}, "pipe"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		if c.said != nil {
			r.Header["X-Forwarded-For"] = c.said
		}
		if got := proxies.clientOf(r); got != c.want {
			t.Errorf("%s says %q: %s, want %s", c.peer, c.said, got, c.want)
		}
		if got := Proxies(nil).clientOf(r); got != c.peer {
			t.Errorf("%s says %q, and nobody is to be believed: %s", c.peer, c.said, got)
		}
	}
}

// Behind a proxy each client has its own rate, by its network of IPv6; who writes the header
// without being a proxy has one rate whatever it writes. The log has both addresses.
func TestRatesBehindProxy(t *testing.T) {
	proxies, err := ParseProxies([]string{"10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := newServer(t, Options{Proxies: proxies, Limits: Limits{Rate: 1e-9, Burst: 1},
		Log: slog.New(slog.NewJSONHandler(&log, nil))})
	ask := func(peer, said string) int {
		r := httptest.NewRequest("GET", "/v1/info", nil)
		r.Host, r.RemoteAddr = "localhost", peer
		r.Header = http.Header{"X-Forwarded-For": {said}}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		peer, said string
		want       int
	}{
		{"10.0.0.1:5", "198.51.100.1", 200}, {"10.0.0.1:6", "198.51.100.2", 200}, {"10.0.0.1:7", "198.51.100.1", 429},
		{"10.0.0.1:5", "203.0.113.1, 198.51.100.2", 429}, {"10.0.0.1:5", "2001:db8::1", 200},
		{"10.0.0.1:5", "2001:db8::2", 429}, {"10.0.0.2:5", "198.51.100.3", 200}, {"10.0.0.2:5", "198.51.100.4", 429},
		{"198.51.100.1:9", "", 429}, // the same client without the proxy
	} {
		if got := ask(c.peer, c.said); got != c.want {
			t.Errorf("%s says %s: %d, want %d", c.peer, c.said, got, c.want)
		}
	}
	var first struct{ Remote, Proxy string }
	line, _, _ := strings.Cut(log.String(), "\n")
	if err := json.Unmarshal([]byte(line), &first); err != nil || first.Remote != "198.51.100.1" ||
		first.Proxy != "10.0.0.1:5" {
		t.Errorf("%+v, %v", first, err)
	}
	if n := strings.Count(log.String(), `"proxy":`); n != 6 {
		t.Errorf("%d requests through a proxy in the log, want 6", n)
	}
}
