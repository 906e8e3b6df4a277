package queue

import (
	"net/netip"
	"net/url"
	"strings"
)

// InsecureServer returns the first server on another machine without encryption and without
// authentication; "" without such a server. Whoever reaches such a server controls
// the workers.
func (o *Options) InsecureServer() string {
	if o.Credentials != "" || o.Cert != "" {
		return ""
	}
	for text := range strings.SplitSeq(o.URL, ",") {
		text = strings.TrimSpace(text)
		if !strings.Contains(text, "://") {
			text = "nats://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.User != nil || isLoopback(u.Hostname()) {
			continue
		}
		if u.Scheme == "nats" || u.Scheme == "ws" {
			return u.Scheme + "://" + u.Host
		}
	}
	return ""
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
