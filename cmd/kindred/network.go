package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/contents"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/format/torchfile"
)

func newNetwork(a *console.Console) *cobra.Command {
	cmd := &cobra.Command{Use: "network", Short: "Show what networks and files of weights consist of"}
	cmd.AddCommand(newNetworkShow(a))
	return cmd
}

func newNetworkShow(a *console.Console) *cobra.Command {
	var f inputs.NetworkFlags
	var nodes bool
	cmd := &cobra.Command{
		Use:               "show FILE|NAME",
		ValidArgsFunction: complete.One(complete.Network),
		Short:             "List the layers of a network: shapes, weights, arithmetic",
		Long: `show lists the layers of a network in the order of execution: each layer's
output (height x width x channels), its trained values, and its multiply-adds for
one image. FILE may be

  model.onnx             the network as it is imported: up to --cut, by default without
                         the classifier; --onnx lists the nodes of the file instead
  runs/photos            the folder of a finished run
  resnet18               a network by name, also without weights
  weights.pth, .safetensors   the tensors in a file of weights`,
		Example: `  kindred network show model.onnx
  kindred network show runs/photos
  kindred network show resnet18 --size 64 --json`,
		Args: exactArgs("file"),
		RunE: func(_ *cobra.Command, args []string) error {
			f.Network = args[0]
			switch ext := strings.ToLower(filepath.Ext(f.Network)); {
			case nodes && ext == ".onnx":
				return showNodes(a, f.Network)
			case nodes:
				return cli.Usagef("--onnx needs an ONNX file; %s is not one", f.Network)
			case slices.Contains([]string{".pth", ".pt", ".bin", ".safetensors"}, ext):
				return showTensors(a, f.Network)
			}
			return showNetwork(a, &f)
		},
	}
	f.Add(cmd)
	cmd.Flags().BoolVar(&nodes, "onnx", false, "list the nodes of an .onnx file by the names that --cut accepts")
	return cmd
}

func showNetwork(a *console.Console, f *inputs.NetworkFlags) error {
	spec, of, notes, err := f.Describe(a)
	if err != nil {
		return err
	}
	n, err := contents.NewNetwork(spec)
	if err != nil {
		return err
	}
	n.Preparation, n.Notes = of, notes
	if a.JSON {
		return a.PrintJSON(n)
	}
	for _, note := range notes {
		fmt.Fprintln(a.Err, "kindred: "+note)
	}
	return n.Write(a.Out)
}

func showNodes(a *console.Console, path string) error {
	m, err := onnx.Read(path)
	if err != nil {
		return err
	}
	return a.PrintResult(contents.NewModel(m), func() error { return contents.WriteModel(a.Out, path, m) })
}

func showTensors(a *console.Console, path string) error {
	f, err := torchfile.ReadWeights(path)
	if err != nil {
		return err
	}
	t := contents.NewWeights(f)
	return a.PrintResult(t, func() error { return t.Write(a.Out, path) })
}
