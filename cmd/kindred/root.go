package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/signals"
	"github.com/kindred-ml/kindred/internal/app/cli/version"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
)

// Exit statuses of every command.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// execute runs one command line and returns the exit status. It is the only
// place that maps errors to statuses.
func execute(ctx context.Context, args []string, out, errOut io.Writer) (code int) {
	results := &checkedWriter{w: out}
	out = escape.Writer(results)
	a := &console.Console{Out: out, Raw: results, Err: escape.Writer(errOut), Screen: errOut}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1)) // --memory holds for this command line only
	root := newRoot(a)
	root.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the process
	root.SetOut(out)
	root.SetErr(a.Err)
	defer func() {
		if r := recover(); r != nil {
			reportPanic(a, r, args)
			code = exitFailure
		}
	}()
	err := root.ExecuteContext(ctx)
	if err == nil && results.err != nil {
		err = fmt.Errorf("writing the result: %w", results.err)
	}
	var usage cli.UsageError
	var trained *provenance.TrainedError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		var r cli.ResumableError
		if errors.As(err, &r) {
			fmt.Fprintf(errOut, "kindred: interrupted: %s; go on with\n%s\n", r.Where, r.Command)
			if r.End != "" {
				fmt.Fprintf(errOut, "or keep the best weights so far with\n%s\n", r.End)
			}
		} else {
			fmt.Fprintln(errOut, escape.Text(escape.Message(describeInterruption(err))))
		}
		if s, ok := signals.Of(ctx); ok {
			return signals.ExitStatus + int(s)
		}
		return exitFailure
	case errors.Is(err, syscall.EPIPE): // the reader of the results has gone
		return signals.ExitStatus + int(syscall.SIGPIPE)
	case errors.As(err, &usage) || option.IsUsage(err) || errors.As(err, &trained) || isCobraUsage(err):
		fmt.Fprintf(errOut, "kindred: %s\nTry 'kindred %s--help'.\n", escape.Text(escape.Message(cli.Message(err))),
			commandPath(root, args))
		return exitUsage
	}
	fmt.Fprintf(errOut, "kindred: %s\n", escape.Text(escape.Message(cli.Message(err))))
	return exitFailure
}

// reportPanic prints what the authors need to find the cause of a panic. It is called while the panic is recovered.
func reportPanic(a *console.Console, value any, args []string) {
	fmt.Fprintf(a.Err, "kindred: internal error: %v\n\n%s\n%scommand %s\n\nThis is a bug in kindred: please report it "+
		"with all lines above, but without passwords, at\nhttps://github.com/kindred-ml/kindred/issues\n", value,
		debug.Stack(), version.Current(), escape.Command(append([]string{"kindred"}, args...)...))
}

// checkedWriter keeps the first error of its writes, so that a command fails if its
// result was not written.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// describeInterruption describes how a command was stopped and what it was doing.
func describeInterruption(err error) string {
	what := strings.TrimSuffix(strings.TrimSuffix(cli.Message(err), context.Canceled.Error()), ": ")
	if what == "" {
		return "kindred: interrupted"
	}
	return "kindred: interrupted: " + what
}

// isCobraUsage reports whether cobra made the error for an unknown command. Errors
// of flags and arguments are wrapped where they arise.
func isCobraUsage(err error) bool { return strings.HasPrefix(err.Error(), "unknown command ") }

func commandPath(root *cobra.Command, args []string) string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd == root {
		return ""
	}
	return strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ") + " "
}

// firstSteps is the text that kindred prints without a command.
const firstSteps = `kindred trains embeddings in which similar things are close together, and uses
them to find things. If each class of photos has a folder, start with:

  kindred train --data photos/ --out runs/photos
  kindred search photo.jpg --run runs/photos --in photos/ --out found
  kindred report runs/photos

'kindred --help' lists all commands, 'kindred COMMAND --help' explains one, and
'kindred doctor' shows what kindred finds on this machine.
`

func newRoot(a *console.Console) *cobra.Command {
	root := &cobra.Command{
		Use:   "kindred",
		Short: "Metric learning: train embeddings, measure them, and check them for class collapse",
		Long: `kindred trains embeddings in which similar things are close together. It keeps
look-alikes within a class close instead of collapsing the class to a point, and
measures how well that worked.

Results go to standard output, remarks and progress to standard error. Names of
classes and files are printed with control characters escaped (\x1b); JSON and
CSV contain them unchanged.

Exit status: 0 success; 1 failure, including a result that could not be written;
2 wrong usage; 128 plus the signal's number if a signal stopped the command: 130
after Ctrl-C, 143 after SIGTERM, 129 after a hangup. The first signal stops a
command within a second (training: after the current step), and the command
prints where it stopped. A second signal ends it at once.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	var showVersion bool
	root.Flags().BoolVar(&showVersion, "version", false,
		"print the version, commit, Go version and instruction set in use")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if showVersion {
			return printVersion(a)
		}
		_, err := io.WriteString(a.Out, firstSteps)
		return err
	}
	cli.AddGlobals(root.PersistentFlags(), &a.JSON, &a.Seed)
	flags.NewPersistent(root).Complete("memory", complete.Words("1GiB", "2GiB", "4GiB", "8GiB", "16GiB"))
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.FlagError(err) })
	addCommands(root, a)
	for _, c := range root.Commands() {
		if !c.Runnable() {
			c.RunE = runGroup
		}
	}
	flags.AddCompletions(root)
	return root
}

// runGroup runs a command that only has subcommands: it prints its help, and a word
// that is not a subcommand is a usage error.
func runGroup(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	names := cli.Map(cmd.Commands(), (*cobra.Command).Name)
	return cli.Usagef("unknown command %q for %s: want one of %s", args[0], cmd.CommandPath(), strings.Join(names,
		", "))
}

// exactArgs is cobra.ExactArgs with a usage error that names the missing argument.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return cli.Usagef("missing argument %s", strings.ToUpper(names[len(args)]))
		}
		if len(args) > len(names) {
			return cli.Usagef("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}
