// Package download downloads a file from an HTTP server.
//
// What has arrived lies beside the file's own name, under .part, until it is
// whole and has passed its check; then it is renamed. A transfer that breaks off
// goes on where it stopped, in the same call or in a later process, as long as
// the server says that the file is still the same one (its ETag, or the time it
// was last changed). What is gone on from was synced: after a loss of power the rest may
// be anything. A server that does not answer is given up within seconds.
package download
