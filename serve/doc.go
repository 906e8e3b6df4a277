// Package serve is an HTTP server for collections of embedded items: it searches them by picture, by item or by
// vector, and changes them.
//
//	s, err := serve.New(serve.Options{Collections: []serve.Collection{{Name: "photos", Store: st, Embedder: net}}})
//	ln, err := serve.Listen("127.0.0.1:7700", serve.Limits{}, nil)
//	err = s.Serve(ctx, ln, nil) // until ctx ends; then it finishes the running requests
//
// A Collection is a store.Store, optionally the network that made its vectors, for searches by picture, and the
// folders whose pictures may be shown. A Server is also an http.Handler. The OpenAPI document that it serves at
// /openapi.json describes all its answers and errors; package serve/api has the messages as Go structs, and a
// client.
//
// Requests are not trusted: every body, picture, number and wait has a limit (Limits), all requests share one
// limit on memory, checked before it is allocated, and no path of a request names a file. Errors are problem
// details (RFC 9457) with a stable code, what is wrong, and the way out. docs/serve.md is the page for users.
package serve
