package remotedata

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/mutations"
)

// TestMutations changes the listing of a bucket.
func TestMutations(t *testing.T) {
	var text []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("continuation-token") != "" {
			http.Error(w, "no more", http.StatusGone)
			return
		}
		w.Header().Set("Content-Type", "application/xml")
		w.Write(text)
	}))
	t.Cleanup(s.Close)
	t.Setenv("AWS_ENDPOINT_URL_S3", s.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "me")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("HOME", t.TempDir())
	mutations.Try(t, mutations.Reader{Name: "listing of S3", Valid: []string{`<?xml version="1.0" encoding="UTF-8"?>` +
		`<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix>set/</Prefix><KeyCount>2` +
		`</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated><Contents><Key>set/a/1.png</Key><LastModified>` +
		`2024-01-02T03:04:05.000Z</LastModified><ETag>"70ee1738b6b21e2c8a43f3a5ab0eee71"</ETag><Size>9</Size><StorageClass>` +
		`STANDARD</StorageClass></Contents><Contents><Key>set/b/2.png</Key><LastModified>2024-01-02T03:04:05.000Z` +
		`</LastModified><ETag>&quot;x&quot;</ETag><Size>12</Size></Contents></ListBucketResult>`},
		Read: func(changed []byte) error {
			text = changed
			u, err := url.Parse("s3://bucket/set")
			if err == nil {
				_, err = openS3(t.Context(), u)
			}
			return err
		}})
}
