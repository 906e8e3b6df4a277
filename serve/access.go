package serve

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// anyOrigin means the pages of every site.
const anyOrigin = "*"

// authenticate returns the name of the request's key, "" if no key is needed and none was sent. It
// checks a key that was sent even if no key is needed.
func (s *Server) authenticate(r *http.Request, rt route) (name string, err error) {
	v := requestInfoOf(r)
	if s.opt.Keys == nil && !s.opt.ReadOnly {
		v.permission = Write
	}
	if rt.permission == Write && s.opt.ReadOnly {
		return "", forbidden.newProblem("Start the server without its read-only option.", "this server is read-only")
	}
	if s.opt.Keys == nil {
		// Without keys, any page that is open in the browser of an authorised user could
		// make that browser write.
		if err := s.crossOrigin.Check(r); err != nil && !slices.Contains(s.opt.Origins, anyOrigin) {
			return "", forbidden.newProblem("Start the server with the page's origin among those allowed.",
				"a page of another site sent this")
		}
		return "", nil
	}
	if rt.open {
		return "", nil
	}
	header := r.Header.Get("Authorization")
	scheme, key, _ := strings.Cut(header, " ")
	if header == "" || !strings.EqualFold(scheme, "Bearer") {
		return "", unauthorized.newProblem("Send the header: Authorization: Bearer KEY.", "the request has no key")
	}
	name, right, ok := s.opt.Keys.find(strings.TrimSpace(key))
	if !ok {
		return "", unauthorized.newProblem("Ask the server's owner for a key; 'kindred serve key' makes one.",
			"the key is not known")
	}
	if !s.opt.ReadOnly {
		v.permission = right
	}
	if right < rt.permission {
		return name, forbidden.newProblem("Use a key with the right to write.",
			"the key %s has only the right to read", name)
	}
	return name, nil
}

// checkOrigin answers the preflight requests of browsers for pages of other sites. It
// refuses requests for another host if the server is local.
func (s *Server) checkOrigin(w http.ResponseWriter, r *http.Request) error {
	if s.opt.Local && !isLoopbackHost(r.Host) {
		return wrongHost.newProblem("Use the address that the server was started with.",
			"the request names another host")
	}
	if len(s.opt.Origins) == 0 {
		return nil
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" && s.isAllowedOrigin(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, ETag")
	}
	return nil
}

func (s *Server) isAllowedOrigin(origin string) bool {
	return slices.Contains(s.opt.Origins, anyOrigin) || slices.Contains(s.opt.Origins, origin)
}

// preflight answers a browser that asks whether a page may send a request.
func (s *Server) preflight(w http.ResponseWriter, r *http.Request) {
	if !s.isAllowedOrigin(r.Header.Get("Origin")) {
		s.writeError(w, r, forbidden.newProblem("Start the server with the page's origin among those allowed.",
			"pages of this origin may not call the server"))
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Request-Id")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// isLoopbackHost reports whether a Host header is a loopback name of this machine.
func isLoopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(name, "]"), "["), "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}
