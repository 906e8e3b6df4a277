package queue

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// Launch describes a job of a batch system that starts workers: an array job of Slurm, or an
// Indexed Job of Kubernetes.
type Launch struct {
	Count  int
	Args   []string // arguments of kindred worker
	Image  string   // container image; Kubernetes needs it
	Cores  int      // 0: the default of the batch system
	Memory string   // in the form of the batch system; "": its default
}

// grace is the number of seconds that a worker has to save its checkpoint.
const grace = 60

// File returns the file for a batch system: "slurm" or "kubernetes".
func (l Launch) File(system string) (string, error) {
	k, err := enum.Index("batch system", system, []string{"slurm", "kubernetes"})
	switch {
	case err != nil:
		return "", err
	case l.Count < 1 || l.Count > 100_000:
		return "", fmt.Errorf("%d workers: want 1 to 100,000", l.Count)
	case strings.ContainsFunc(l.Memory, func(r rune) bool { return !strings.ContainsRune("0123456789.KMGTi", r) }):
		return "", fmt.Errorf("memory %q: want a number with K, M, G or T (Kubernetes: Ki, Mi, Gi, Ti)",
			l.Memory)
	case k == 1 && l.Image == "":
		return "", fmt.Errorf("a Job of Kubernetes needs a container image that contains kindred")
	}
	args := append([]string{"worker"}, l.Args...)
	if k == 0 {
		return l.slurm(args), nil
	}
	return l.kubernetes(args), nil
}

// slurm makes an array job. Slurm signals a worker some time before its time limit. If a node fails, the
// other workers take over its job.
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
