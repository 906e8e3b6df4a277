package serve

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the networks of the proxies in front of a server. Only their X-Forwarded-For is
// trusted to name the client of a request.
type Proxies []netip.Prefix

// loopbackNetworks are the networks that the word loopback means.
var loopbackNetworks = Proxies{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// ParseProxies reads addresses, networks such as 10.0.0.0/8, and the word loopback.
func ParseProxies(texts []string) (Proxies, error) {
	var all Proxies
	for _, text := range texts {
		const want = "must be an address, a network such as 10.0.0.0/8, or loopback"
		p, err := netip.ParsePrefix(text)
		switch ip, e := netip.ParseAddr(text); {
		case text == "loopback":
			all = append(all, loopbackNetworks...)
			continue
		case e == nil && ip.Zone() == "":
			p, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		switch {
		case err != nil || p.Addr().Is4In6():
			return nil, fmt.Errorf("proxy %q: %s", text, want)
		case p.Bits() == 0:
			return nil, fmt.Errorf("proxy %q: it would trust all addresses: %s", text, want)
		case p != p.Masked():
			return nil, fmt.Errorf("proxy %q: the network is %s: give it, or the address without a "+
				"length", text, p.Masked())
		}
		all = append(all, p)
	}
	return all, nil
}

// HasLoopback reports whether a proxy is on this machine.
func (p Proxies) HasLoopback() bool {
	return slices.ContainsFunc(p, func(of netip.Prefix) bool {
		return of.Overlaps(loopbackNetworks[0]) || of.Overlaps(loopbackNetworks[1])
	})
}

// isProxy reports whether an address is that of a proxy.
func (p Proxies) isProxy(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(p, func(of netip.Prefix) bool { return of.Contains(ip) })
}

// isProxyPeer reports whether a connection's other end is a proxy.
func (p Proxies) isProxyPeer(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	return err == nil && p.isProxy(at.Addr())
}

// clientOf returns the address of a request's client: its peer or, if that is a proxy, the last address
// of X-Forwarded-For that is not a proxy. The client may have invented the addresses before it.
func (p Proxies) clientOf(r *http.Request) string {
	if !p.isProxyPeer(r.RemoteAddr) {
		return r.RemoteAddr
	}
	from := r.RemoteAddr
	said := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, text := range slices.Backward(said) {
		ip, ok := parseForwarded(strings.TrimSpace(text))
		if !ok {
			break // the proxy that wrote this is the farthest known address
		}
		from = ip.String()
		if !p.isProxy(ip) {
			break
		}
	}
	return from
}

// parseForwarded reads an address of X-Forwarded-For, to which some proxies add a port.
func parseForwarded(text string) (netip.Addr, bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap(), true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return ip.Unmap(), err == nil
}
