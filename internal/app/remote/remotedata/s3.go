package remotedata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// s3 asks for the objects of a bucket.
type s3 struct {
	core   minio.Core
	bucket string
	known  bool // there are credentials
	pages  *listingGuard
}

// openS3 opens an archive, or the objects below a prefix.
func openS3(ctx context.Context, u *url.URL) (fs.FS, error) {
	s, err := newS3(u.Host)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimPrefix(u.Path, "/")
	if strings.EqualFold(path.Ext(prefix), ".zip") {
		info, err := s.core.StatObject(ctx, s.bucket, prefix, minio.StatObjectOptions{})
		if err != nil {
			return nil, s.explain(u.String(), err)
		}
		return openZip(ctx, s.blob(info))
	}
	if isShard(prefix) {
		return s.openShards(ctx, u)
	}
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return s.list(ctx, u, prefix)
}

// list lists the objects below a prefix.
func (s *s3) list(ctx context.Context, u *url.URL, prefix string) (fs.FS, error) {
	f := newFiles(ctx, u.String())
	// Each set has connections of its own, and a program may open many sets.
	defer s.pages.CloseIdleConnections()
	ctx, s.pages.stop = context.WithCancelCause(ctx)
	defer s.pages.stop(nil)
	below := minio.ListObjectsOptions{Prefix: prefix, Recursive: true, FetchOwner: new(bool)}
	for info := range s.core.Client.ListObjectsIter(ctx, s.bucket, below) {
		if ctx.Err() != nil {
			break
		}
		if info.Err != nil {
			return nil, s.explain(u.String(), info.Err)
		}
		s.pages.keys++
		name := strings.TrimPrefix(info.Key, prefix)
		if len(info.Key) > maxKey || len(info.ETag) > maxKey {
			return nil, permanentError{fmt.Errorf("%s: the server lists a key of %d bytes with an ETag of %d: neither "+
				"has more than %d", u, len(info.Key), len(info.ETag), maxKey)}
		}
		if !fs.ValidPath(name) || name == "." || strings.HasSuffix(info.Key, "/") {
			// The mark of a folder: lists of nothing else have an end, too.
			if err := f.countMemory(len(name)); err != nil {
				return nil, err
			}
			continue
		}
		if f.files[name] != nil {
			return nil, permanentError{fmt.Errorf("%s: the server lists %.200q twice", u, info.Key)}
		}
		if err := f.add(name, s.blob(info)); err != nil {
			return nil, err
		}
	}
	if err := context.Cause(ctx); err != nil { // the client takes it for the end
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	if len(f.files) == 0 {
		return nil, fmt.Errorf("%s: there is no object below this prefix", u)
	}
	return f, nil
}

// newS3 takes endpoint, region and credentials from the variables and files that
// other programs take them from.
func newS3(bucket string) (*s3, error) {
	endpoint, secure := "s3.amazonaws.com", true
	if e := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")); e != "" {
		u, err := url.Parse(e)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fmt.Errorf("$AWS_ENDPOINT_URL is %.200q: give https://HOST:PORT", e)
		}
		endpoint, secure = u.Host, u.Scheme == "https"
	}
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" || os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" ||
		os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" {
		providers = append(providers, &credentials.IAM{})
	}
	creds := credentials.NewChainCredentials(providers)
	v, err := creds.GetWithContext(nil)
	known := err == nil && v.AccessKeyID != ""
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fmt.Errorf("s3://%s: %w", bucket, err)
	}
	pages := &listingGuard{RoundTripper: t}
	c, err := minio.New(endpoint, &minio.Options{Creds: creds, Secure: secure, MaxRetries: maxTries, Transport: pages,
		Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))})
	if err != nil {
		return nil, fmt.Errorf("s3://%s: %w", bucket, err)
	}
	return &s3{minio.Core{Client: c}, bucket, known, pages}, nil
}

// blob is an object as it was listed.
func (s *s3) blob(info minio.ObjectInfo) *blob {
	etag, key := strings.Trim(info.ETag, `"`), info.Key
	return &blob{name: "s3://" + s.bucket + "/" + key, size: info.Size, etag: etag, state: contentState{etag: etag},
		ranges: true, get: func(ctx context.Context, b *blob, from, n int64) (io.ReadCloser, string, error) {
			return s.get(ctx, key, b, from, n)
		}}
}

func (s *s3) get(ctx context.Context, key string, b *blob, from, n int64) (io.ReadCloser, string, error) {
	var o minio.GetObjectOptions
	if n >= 0 {
		if err := o.SetRange(from, from+n-1); err != nil {
			return nil, "", permanentError{err}
		}
	}
	if b.etag != "" {
		if err := o.SetMatchETag(b.etag); err != nil {
			return nil, "", permanentError{err}
		}
	}
	body, info, header, err := s.core.GetObject(ctx, s.bucket, key, o)
	if err != nil {
		return nil, "", s.explain("", err)
	}
	if n < 0 && info.Size != b.size {
		body.Close()
		return nil, "", permanentError{errChanged}
	}
	if err := b.check(header, from, n); err != nil {
		body.Close()
		return nil, "", err
	}
	// The ETag is the content's MD5 but for uploads in parts and keys of one's own.
	sum, kept := "", header.Get("X-Amz-Server-Side-Encryption")
	if isLikeMD5(b.etag) && (kept == "" || kept == "AES256") &&
		header.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") == "" {
		sum = b.etag
	}
	return body, sum, nil
}

// maxErrorText bounds the bytes of an error of the client. It may quote what the server answers, which
// is as long as the server likes: a time that cannot be parsed is quoted whole, twice.
const maxErrorText = 400

// briefError is an error that prints only its beginning and its end.
type briefError struct{ error }

func (b *briefError) Error() string {
	text := b.error.Error()
	begin, end := text[:maxErrorText*3/4], text[len(text)-maxErrorText/4:]
	return fmt.Sprintf("%s ... (%d bytes) ... %s", strings.ToValidUTF8(begin, ""), len(text)-maxErrorText,
		strings.ToValidUTF8(end, ""))
}

func (b *briefError) Unwrap() error { return b.error }

// explain names the way out of a refusal, and tells errors that may pass. All errors of the client
// go through it.
func (s *s3) explain(where string, err error) error {
	r := minio.ToErrorResponse(err)
	if len(err.Error()) > maxErrorText {
		err = &briefError{err}
	}
	if where != "" {
		err = fmt.Errorf("%s: %w", where, err)
	}
	switch {
	case r.StatusCode == 403 && !s.known || r.Code == "AccessDenied" && !s.known:
		return permanentError{fmt.Errorf("%w: no credentials were found: set AWS_ACCESS_KEY_ID and "+
			"AWS_SECRET_ACCESS_KEY, or have them in ~/.aws/credentials", err)}
	case r.StatusCode == 412 || r.Code == "PreconditionFailed":
		return permanentError{errors.Join(errChanged, err)}
	case r.StatusCode >= 400 && r.StatusCode < 500 && r.StatusCode != 408 && r.StatusCode != 429:
		return permanentError{fileError{err}}
	}
	return err
}
