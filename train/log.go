package train

import (
	"log/slog"
	"slices"
)

// LogEvents returns an observer for Config.Observe and run.Options.Observe that logs the progress: the start, the end
// of each epoch with its mean loss, learning rate and scores, and a stop. Steps and evaluations are logged at
// slog.LevelDebug.
func LogEvents(log *slog.Logger) func(Event) {
	return func(e Event) {
		at := []any{"epoch", e.Epoch, "of", e.Epochs, "elapsed", e.Elapsed}
		switch {
		case e.Stage == Stepped:
			log.Debug("step", append(at, "step", e.Step, "steps", e.Steps, "loss", e.Result.Value)...)
		case e.Stage == Scoring:
			log.Debug("scoring", at...)
		case e.Stage == EpochEnd && e.Row != nil:
			at = append(at, "loss", e.Row.MeanLoss(), "lr", e.Row.LR)
			for _, m := range e.Row.Metrics {
				at = append(at, m.Key(), m.Value)
			}
			log.Info("epoch ended", at...)
			if e.Row.Warning != "" {
				log.Warn(e.Row.Warning, "epoch", e.Epoch)
			}
		default:
			log.Info(e.Stage.String(), slices.Clip(at)...)
		}
	}
}
