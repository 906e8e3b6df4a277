package driver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Address is the address of a cluster, with one or more hosts.
//
//	weaviate://:KEY@a.example:8080,b.example:8080?replication=3
type Address struct {
	Hosts   []string // host:port
	Key     string   // "" without one
	TLS     bool     // option tls=true
	options url.Values
}

// ParseAddress reads SCHEME://[:KEY@]HOST[:PORT][,HOST...][?OPTION=VALUE&...]. Options that are
// neither tls nor among known are an error. No error repeats the key.
func ParseAddress(text, scheme, port string, known ...string) (*Address, error) {
	rest, ok := strings.CutPrefix(text, scheme+"://")
	if !ok {
		return nil, fmt.Errorf("the form is %s://HOST:PORT", scheme)
	}
	rest, query, _ := strings.Cut(rest, "?")
	a := &Address{}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		_, key, _ := strings.Cut(rest[:at], ":")
		var err error
		if a.Key, err = url.PathUnescape(key); err != nil {
			return nil, errors.New("the key in the address is not percent-encoded")
		}
		rest = rest[at+1:]
	}
	for host := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), ",") {
		name, number, err := net.SplitHostPort(host)
		if err != nil {
			name, number = strings.Trim(host, "[]"), port
		}
		if n, err := strconv.Atoi(number); err != nil || n < 1 || n > 65535 || name == "" ||
			strings.ContainsAny(name, "/@# ") {
			return nil, fmt.Errorf("the host %q of a %s address: must be HOST or HOST:PORT", host, scheme)
		}
		a.Hosts = append(a.Hosts, net.JoinHostPort(name, number))
	}
	var err error
	if a.options, err = url.ParseQuery(query); err != nil {
		return nil, errors.New("the options of the address are not percent-encoded")
	}
	known = append(known, "tls")
	for name := range a.options {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s has no option %q: must be %s", scheme, name, strings.Join(known, ", "))
		}
	}
	tls, err := a.ChoiceOption("tls", "false", "true")
	a.TLS = tls == "true"
	return a, err
}

// ChoiceOption returns an option that has one of several values; the default is the first.
func (a *Address) ChoiceOption(name string, values ...string) (string, error) {
	v := strings.ToLower(a.options.Get(name))
	if v == "" {
		return values[0], nil
	}
	if !slices.Contains(values, v) {
		return "", fmt.Errorf("%s=%s: must be %s", name, v, strings.Join(values, " or "))
	}
	return v, nil
}

// NumberOption returns an option that is a number from low to high; the default is usual.
func (a *Address) NumberOption(name string, usual, low, high int) (int, error) {
	v := a.options.Get(name)
	if v == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s=%s: must be a number from %d to %d", name, v, low, high)
	}
	return n, nil
}
