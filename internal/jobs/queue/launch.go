package queue

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/spell"
)

// Launch is what a batch system needs to start workers: an array job of Slurm, an
// Indexed Job of Kubernetes. It starts nothing.
type Launch struct {
	Count  int
	Args   []string // of kindred worker
	Image  string   // of a container; Kubernetes needs it
	Cores  int      // 0: not said
	Memory string   // as the batch system writes it; "": not said
}

// grace is how many seconds a worker has to hand its checkpoint on.
const grace = 60

// File returns the file for a batch system: "slurm" or "kubernetes".
func (l Launch) File(system string) (string, error) {
	k, err := spell.Index("batch system", system, []string{"slurm", "kubernetes"})
	switch {
	case err != nil:
		return "", err
	case l.Count < 1 || l.Count > 100_000:
		return "", fmt.Errorf("%d workers: at least one, at most 100,000", l.Count)
	case strings.ContainsFunc(l.Memory, func(r rune) bool { return !strings.ContainsRune("0123456789.KMGTi", r) }):
		return "", fmt.Errorf("%q is no amount of memory: a number with K, M, G or T (Kubernetes: Ki, Mi, Gi, Ti)",
			l.Memory)
	case k == 1 && l.Image == "":
		return "", fmt.Errorf("a Job of Kubernetes needs an image of a container with kindred in it")
	}
	args := append([]string{"worker"}, l.Args...)
	if k == 0 {
		return l.slurm(args), nil
	}
	return l.kubernetes(args), nil
}

// slurm signals the worker in time before its time is over; a worker that a node took
// along is replaced by the others.
func (l Launch) slurm(args []string) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n#SBATCH --job-name=kindred-worker\n#SBATCH --ntasks=1\n")
	fmt.Fprintf(&b, "#SBATCH --array=0-%d\n", l.Count-1)
	if l.Cores > 0 {
		fmt.Fprintf(&b, "#SBATCH --cpus-per-task=%d\n", l.Cores)
	}
	if l.Memory != "" {
		fmt.Fprintf(&b, "#SBATCH --mem=%s\n", l.Memory)
	}
	fmt.Fprintf(&b, "#SBATCH --signal=B:TERM@%d\n#SBATCH --requeue\n#SBATCH --open-mode=append\nexec kindred", grace)
	for _, a := range args {
		b.WriteString(" " + quote(a))
	}
	return b.String() + "\n"
}

// quote writes a word for a shell.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:,=@", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// kubernetes makes an Indexed Job. Texts are written as JSON, which is YAML.
func (l Launch) kubernetes(args []string) string {
	text := func(v any) string {
		b, _ := json.Marshal(v) // texts and lists of them have no errors
		return string(b)
	}
	limits := map[string]string{}
	if l.Cores > 0 {
		limits["cpu"] = fmt.Sprint(l.Cores)
	}
	if l.Memory != "" {
		limits["memory"] = l.Memory
	}
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  generateName: kindred-worker-
spec:
  completionMode: Indexed
  completions: %d
  parallelism: %d
  backoffLimitPerIndex: 10
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: %d
      containers:
        - name: worker
          image: %s
          command: ["kindred"]
          args: %s
          resources: {requests: %s, limits: %s}
`, l.Count, l.Count, grace, text(l.Image), text(args), text(limits), text(limits))
}
