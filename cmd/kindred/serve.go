package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/serving"
	"github.com/kindred-ml/kindred/internal/app/cli/version"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/critical"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/internal/page"
	"github.com/kindred-ml/kindred/serve"
)

// serveEnv is the beginning of the names of environment variables that set flags.
const serveEnv = "KINDRED_SERVE_"

type serveFlags struct {
	serving.Options
	listen, keys, cert, key string
	origins                 []string
	review                  string
	withoutKeys, toAll      bool
	proxies                 []string
	limits                  serve.Limits
	body, memory            sizeFlag
	logFormat, logLevel     string
}

// sizeFlag is a size such as 32MiB.
type sizeFlag struct{ bytes *int64 }

func (f sizeFlag) String() string {
	if f.bytes == nil || *f.bytes == 0 {
		return ""
	}
	return budget.Format(*f.bytes)
}
func (f sizeFlag) Type() string { return "size" }
func (f sizeFlag) Set(text string) (err error) {
	*f.bytes, err = budget.Parse(text)
	return err
}

func newServe(a *console.Console) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:               "serve INDEX... | --store URL | --review DIR",
		ValidArgsFunction: complete.Folders,
		Short:             "Search an index, and change it, over HTTP",
		Long: `serve finds over HTTP the neighbours of a picture, an item or a vector in one or more
indexes, explains results, and adds, changes and removes items. GET /openapi.json
describes all requests; docs/serve.md has examples. Searching by picture and adding
pictures need an index with its network. --store serves a store of a database, made by
'kindred index push', with the network of --run; any number of servers can share it.

--review DIR, with an index or alone, serves at /review the page that kindred discover or
kindred clean has written to DIR. Several people on several machines can decide, one after
the other, with a key that may write. Their decisions are kept in DIR/decisions.json.

By default serve listens only on this machine. If --listen lets other machines connect, it
requires keys (--keys; 'kindred serve key' makes them), or both --without-keys and
--open-to-network. Without --tls-cert, keys and pictures can be read in transit: use a
certificate, or a proxy that encrypts.

serve logs to standard error: text on a terminal, else a line of JSON for each request. The
first signal to stop lets running requests finish (--drain) and ends with status 0. Every
flag can be set by an environment variable instead, --max-body by
` + serveEnv + `MAX_BODY, and INDEX by ` + serveEnv + `INDEX; flags go before.`,
		Example: `  kindred serve photos.index
  kindred serve photos.index --listen 0.0.0.0:7700 --keys keys.txt --tls-cert cert.pem --tls-key key.pem`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if err := setFromEnvironment(cmd.LocalFlags(), os.LookupEnv); err != nil {
				return err
			}
			if env := os.Getenv(serveEnv + "INDEX"); len(dirs) == 0 && env != "" {
				dirs = []string{env}
			}
			if len(dirs)+len(f.Stores) == 0 && f.review == "" {
				return cli.Usagef("missing argument INDEX, --store or --review: the data to serve; 'kindred index " +
					"create' makes an index")
			}
			if err := f.checkApplicable(cmd, dirs); err != nil {
				return err
			}
			return runServe(cmd.Context(), a, &f, dirs)
		},
	}
	f.add(flags.New(cmd))
	cmd.AddCommand(newServeKey(a))
	return cmd
}

func (f *serveFlags) add(fs flags.Set) {
	fs.Text(&f.listen, "listen", "127.0.0.1:7700", "address to listen on; port 0 chooses a free port", complete.Nothing)
	fs.Text(&f.keys, "keys", "", "file of keys; it is reloaded when it changes", complete.Files)
	fs.Text(&f.cert, "tls-cert", "", "certificate for TLS (PEM); it is reloaded when it changes", complete.Files)
	fs.Text(&f.key, "tls-key", "", "private key of the certificate (PEM)", complete.Files)
	fs.Repeated(&f.Stores, "store", "serve a store of a database: "+inputs.StoreForm+"; may be repeated",
		complete.Nothing)
	fs.Text(&f.Run, "run", "", "run whose network made the embeddings of --store, for pictures", complete.Runs)
	fs.Repeated(&f.origins, "origin", "origin of web pages that may call the server, such as https://shop.example; "+
		"* allows all; may be repeated", complete.Nothing)
	fs.BoolVar(&f.ReadOnly, "read-only", false, "change nothing, so that another program can change the index")
	fs.Repeated(&f.Pictures, "pictures", "show only pictures in this folder, and accept paths in it for items; "+
		"may be repeated", complete.Folders)
	fs.Text(&f.Uploads, "uploads", "", "folder for added pictures; default: uploads in the index", complete.Folders)
	fs.Text(&f.Label, "label", "", "column of the items' classes, for explanations (default label)", complete.Nothing)
	fs.Text(&f.review, "review", "",
		"results of kindred discover or kindred clean (folder or page) to decide about at /review", complete.Folders)
	fs.Text(&f.Sync, "sync", "", "make the one INDEX match this folder of photos, as kindred index sync does",
		complete.Folders)
	fs.DurationVar(&f.Every, "sync-every", time.Minute, "with --sync: longest time between two comparisons, whether "+
		"a change was reported or not")
	fs.Float64Var(&f.Most, "sync-most", changes.DefaultMaxRemovals,
		"with --sync: largest share of the items, 0 to 1, that "+
			"is removed without asking; if more photos are missing, their items stay until somebody decides")
	fs.BoolVar(&f.withoutKeys, "without-keys", false, "with --open-to-network: require no keys; everyone may read "+
		"and write")
	fs.BoolVar(&f.toAll, "open-to-network", false, "with --without-keys: let other machines connect")
	l := &f.limits
	l.Body, l.Pixels, l.Items, l.K, l.Rate = 32<<20, imaging.DefaultMaxPixels, 1000, 1000, 50
	l.Concurrent, l.Connections, l.Time, l.Drain = 64, 1024, 30*time.Second, 20*time.Second
	f.body.bytes, f.memory.bytes = &l.Body, &l.Memory
	fs.Var(f.body, "max-body", "largest body of a request")
	fs.Complete("max-body", complete.Words("8MiB", "32MiB", "128MiB"))
	fs.IntVar(&l.Pixels, "max-pixels", l.Pixels, "most pixels of a picture")
	fs.IntVar(&l.Items, "max-items", l.Items, "most items written, removed or listed by a request")
	fs.IntVar(&l.K, "max-k", l.K, "most neighbours found by a request")
	fs.Float64Var(&l.Rate, "rate", l.Rate, "requests per second of each key, or of each address without keys; -1: "+
		"no limit")
	fs.IntVar(&l.Burst, "burst", 0, "burst of requests allowed above --rate (default twice the rate)")
	fs.IntVar(&l.Concurrent, "concurrent", l.Concurrent, "most requests processed at once; others wait")
	fs.IntVar(&l.Connections, "connections", l.Connections, "most connections open at once")
	fs.IntVar(&l.ConnectionsPerSender, "connections-per-address", 0,
		"most of --connections that one address keeps when others "+
			"need them (default a quarter)")
	fs.List(&f.proxies, "trusted-proxy", nil, "address or network of a proxy whose X-Forwarded-For is trusted "+
		"to name the client, or loopback; may be repeated", complete.List("loopback"))
	fs.Var(f.memory, "request-memory",
		"most memory for bodies and pictures of all requests (default half of the memory limit)")
	fs.Complete("request-memory", complete.Words("256MiB", "1GiB", "4GiB"))
	fs.DurationVar(&l.Time, "timeout", l.Time, "longest time to receive a body, and longest time to process a request")
	fs.DurationVar(&l.Drain, "drain", l.Drain, "longest time to finish requests when stopping")
	fs.Text(&f.logFormat, "log-format", "", "json or text (default text on a terminal, else json)",
		complete.Words("json", "text"))
	fs.Text(&f.logLevel, "log-level", "info", "debug, info, warn or error",
		complete.Words("debug", "info", "warn", "error"))
}

// setFromEnvironment sets the flags that the command line does not set.
func setFromEnvironment(fs *pflag.FlagSet, lookup func(string) (string, bool)) (err error) {
	fs.VisitAll(func(flag *pflag.Flag) {
		name := serveEnv + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		if v, ok := lookup(name); ok && !flag.Changed && flag.Name != "help" {
			if e := fs.Set(flag.Name, v); e != nil {
				err = cmp.Or(err, error(cli.Usagef("%s: %v", name, e)))
			}
		}
	})
	return err
}

func (f *serveFlags) logger(a *console.Console) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, cli.Usagef("--log-level %q: want debug, info, warn or error", f.logLevel)
	}
	format := f.logFormat
	if format == "" && !a.IsTerminal() {
		format = "json"
	}
	opt := &slog.HandlerOptions{Level: level}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(a.Err, opt)), nil
	case "", "text":
		return slog.New(slog.NewTextHandler(a.Err, opt)), nil
	}
	return nil, cli.Usagef("--log-format %q: want json or text", f.logFormat)
}

// checkApplicable refuses flags that do not apply to the served data.
func (f *serveFlags) checkApplicable(cmd *cobra.Command, dirs []string) error {
	served := len(dirs)+len(f.Stores) > 0
	what := "a review without an index"
	switch {
	case len(dirs) > 0:
		what = lookup.Index.String()
	case served:
		what = lookup.Store.String()
	}
	return flags.Check(cmd, what,
		flags.When("run", len(f.Stores) > 0, "", "an index contains its network"),
		flags.When("sync", len(dirs) > 0, "", "only an index can follow a folder"),
		flags.When("sync-every", true, "sync", "it sets how often that folder is compared"),
		flags.When("sync-most", true, "sync", "it limits what that folder removes"),
		flags.When("label pictures uploads max-items max-k max-pixels", served, "", "a review has no items"))
}

// checkConsistent refuses flags that contradict each other.
func (f *serveFlags) checkConsistent(dirs []string) error {
	switch {
	case (f.cert == "") != (f.key == ""):
		return cli.Usagef("--tls-cert and --tls-key need each other: give both")
	case f.keys != "" && (f.withoutKeys || f.toAll):
		return cli.Usagef("--keys, or --without-keys and --open-to-network")
	case f.Sync != "" && (len(dirs) != 1 || f.ReadOnly):
		return cli.Usagef("--sync changes one index: give one INDEX, without --read-only")
	case !(f.Most >= 0 && f.Most <= 1):
		return cli.Usagef("--sync-most %g: want 0 to 1, such as 0.3", f.Most)
	case f.Every <= 0:
		return cli.Usagef("--sync-every %v: want more than 0", f.Every)
	case f.Uploads != "" && f.ReadOnly:
		return cli.Usagef("--uploads does not apply to --read-only: no picture is added")
	case f.Uploads != "" && len(dirs)+len(f.Stores) > 1:
		return cli.Usagef("--uploads applies to a single index: leave it out, and each index has its own folder")
	}
	return nil
}

func runServe(ctx context.Context, a *console.Console, f *serveFlags, dirs []string) (err error) {
	if err := f.checkConsistent(dirs); err != nil {
		return err
	}
	log, err := f.logger(a)
	if err != nil {
		return err
	}
	opt := serve.Options{Origins: f.origins, ReadOnly: f.ReadOnly, Limits: f.limits, Log: log, Page: page.Handler(),
		Review: f.review}
	if f.review != "" && !f.ReadOnly {
		held, err := f.lockReview()
		if err != nil {
			return err
		}
		defer held.Release()
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		opt.Version = version.New(info).Version
	}
	if f.keys != "" {
		if opt.Keys, err = serve.OpenKeys(f.keys); err != nil {
			return err
		}
	}
	var secure *tls.Config
	if f.cert != "" {
		if secure, err = serve.LoadTLS(f.cert, f.key, log); err != nil {
			return err
		}
	}
	address, err := f.setReach(&opt)
	if err != nil {
		return err
	}
	indexes, end, err := f.Open(ctx, a, dirs, &opt)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, end()) }()
	s, err := serve.New(opt)
	if err != nil {
		return err
	}
	defer s.Close()
	// Data that cannot be opened is an error before the port is taken. The server follows a folder only
	// once it listens.
	ln, err := f.listenOn(address, opt.Proxies)
	if err != nil {
		return err
	}
	defer ln.Close()
	for _, h := range indexes {
		defer h.StartKeeping(ctx, s)()
	}
	if err := printServing(ctx, a, log, ln, secure != nil, &opt); err != nil {
		return err
	}
	defer critical.Begin(ctx, 0)() // --drain bounds how long it goes on after a signal
	return s.Serve(ctx, ln, secure)
}

// lockReview locks the folder of the page to review, because this process writes the
// decisions there.
func (f *serveFlags) lockReview() (*lock.Held, error) {
	st, err := inputs.StatArg(f.review, "a folder or page that kindred discover or kindred clean has written")
	if err != nil {
		return nil, fmt.Errorf("--review: %w", err)
	}
	dir := f.review
	if !st.IsDir() {
		dir = filepath.Dir(dir)
	}
	return lock.Folder(dir)
}

// listenAddress returns the address to listen on. If other machines can connect, it requires keys, or a second
// flag that confirms that no keys are wanted.
func (f *serveFlags) listenAddress(keys bool) (*net.TCPAddr, error) {
	a, err := net.ResolveTCPAddr("tcp", f.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w; want an address and a port, such as 127.0.0.1:7700",
			f.listen, err)
	}
	if !keys && !a.IP.IsLoopback() && !(f.withoutKeys && f.toAll) {
		return nil, cli.Usagef("--listen %s: other machines could read and change everything. Give --keys FILE "+
			"('kindred "+
			"serve key' makes keys), or both --without-keys and --open-to-network to allow it",
			f.listen)
	}
	return a, nil
}

// setReach returns the address to listen on, and sets the options that depend on who can connect to it.
func (f *serveFlags) setReach(opt *serve.Options) (*net.TCPAddr, error) {
	a, err := f.listenAddress(opt.Keys != nil)
	if err != nil {
		return nil, err
	}
	opt.Local = opt.Keys == nil && a.IP.IsLoopback()
	opt.Proxies, err = f.trustedProxies(a)
	return a, err
}

// trustedProxies returns the proxies in front of the server. Each must be able to connect.
func (f *serveFlags) trustedProxies(a *net.TCPAddr) (serve.Proxies, error) {
	all, err := serve.ParseProxies(f.proxies)
	if err != nil {
		return nil, cli.Usagef("--trusted-proxy: %v", err)
	}
	for i := range all {
		if a.IP.IsLoopback() && !all[i:i+1].HasLoopback() {
			return nil, cli.Usagef("--trusted-proxy %s: only this machine can connect to --listen %s; give loopback "+
				"for a "+
				"proxy on this machine, or listen on an address that the other machine can reach", all[i], f.listen)
		}
	}
	return all, nil
}

// listenOn listens.
func (f *serveFlags) listenOn(a *net.TCPAddr, proxies serve.Proxies) (net.Listener, error) {
	ln, err := serve.Listen(a.String(), f.limits, proxies)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: another program listens there; choose another port with --listen, or 127.0.0.1:0 for "+
			"any free port", err)
	}
	return ln, err
}

// servingInfo is what kindred serve --json prints when it listens.
type servingInfo struct {
	URL         string   `json:"url"`
	Collections []string `json:"collections"`
	Review      string   `json:"review,omitempty"` // the page to decide on
}

// printServing prints where the server listens, and what to do next.
func printServing(ctx context.Context, a *console.Console, log *slog.Logger, ln net.Listener, secure bool,
	opt *serve.Options) error {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	out := servingInfo{URL: scheme + "://" + ln.Addr().String(), Collections: []string{}}
	var items []string
	uploads := false
	for _, c := range opt.Collections {
		info, err := c.Store.Info(ctx)
		if err != nil {
			return err
		}
		out.Collections = append(out.Collections, c.Name)
		items = append(items, fmt.Sprintf("%s (%d items)", c.Name, info.Items))
		uploads = uploads || c.Embedder != nil
	}
	next := "curl " + out.URL + "/v1/info"
	if uploads {
		next = "curl -F image=@photo.jpg " + out.URL + "/v1/search"
	}
	if opt.Review != "" {
		out.Review = out.URL + "/review"
		items = append(items, "a review")
		if len(opt.Collections) == 0 {
			next = "decide on the page " + out.Review
		}
	}
	if opt.Keys != nil {
		next = strings.Replace(next, "curl ", `curl -H "Authorization: Bearer $KEY" `, 1)
	}
	log.Info("listening", "url", out.URL, "collections", out.Collections, "keys", opt.Keys != nil, "next", next)
	if opt.Keys != nil && !secure && !serve.IsLoopback(ln) {
		log.Warn("keys can be read in transit: use --tls-cert, or a proxy that encrypts")
	}
	if opt.Keys == nil && !opt.Local {
		log.Warn("everyone who can reach this address may read and write")
	}
	return a.PrintResultf(out, "serving %s at %s\nnext: %s\n", strings.Join(items, ", "), out.URL, next)
}

func newServeKey(a *console.Console) *cobra.Command {
	var name, may, file string
	cmd := &cobra.Command{
		Use:   "key --name NAME --file FILE",
		Short: "Make a key for a server",
		Long: `key makes a random key, appends its SHA-256 to a file of keys, and prints the key. The
key itself is not stored anywhere. To revoke a key, remove its line. A running server
reloads the file.`,
		Example: `  kindred serve key --name phone --may read --file keys.txt`,
		Args:    exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			if name == "" || file == "" {
				return cli.Usagef("missing --name or --file")
			}
			right, err := serve.ParsePermission(may)
			if err != nil {
				return cli.UsageError{Err: err}
			}
			key, line, err := serve.NewKey(name, right)
			if err != nil {
				return cli.UsageError{Err: err}
			}
			if err := serve.AppendKey(file, line); err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(map[string]string{"key": key, "name": name, "right": may, "file": file})
			}
			fmt.Fprintf(a.Err, "added to %s; the key, which is not stored anywhere:\n", escape.Name(file))
			_, err = fmt.Fprintln(a.Out, key)
			return err
		},
	}
	fs := flags.New(cmd)
	fs.Text(&name, "name", "", "name of the key's owner in the log", complete.Nothing)
	fs.Text(&may, "may", "read", "read, or write, which includes reading", complete.Words("read", "write"))
	fs.Text(&file, "file", "", "file of keys; created if missing, readable only by its owner", complete.Files)
	return cmd
}
