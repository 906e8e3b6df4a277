"""Writes reference.json: scores of pairs by numpy and scikit-learn. Run it in its folder."""

import json

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

rng = np.random.default_rng(11)
cases = []
for name, genuine, impostor in [
    ("normal", rng.normal(1, 0.4, 400), rng.normal(2, 0.5, 3000)),
    ("ties", rng.integers(0, 6, 300) / 4, rng.integers(2, 12, 2000) / 4),
    ("the wrong way round", rng.normal(2, 1, 50), rng.normal(1, 1, 70)),
    ("apart", rng.uniform(0, 1, 20), rng.uniform(2, 3, 30)),
    ("two pairs", np.array([1.5]), np.array([1.5])),
]:
    # Numbers of 20 bits, so that nothing is lost on the way.
    genuine, impostor = (np.round(np.asarray(v, float) * 2**16) / 2**16 for v in (genuine, impostor))
    same = np.r_[np.ones(len(genuine)), np.zeros(len(impostor))]
    distance = np.r_[genuine, impostor]
    fpr, tpr, _ = roc_curve(same, -distance, drop_intermediate=False)
    # The crossing of the ROC curve, linear between its points, with TPR = 1 - FPR.
    x = np.flatnonzero(fpr > 1 - tpr)[0]
    a, b = 1 - tpr[x - 1] - fpr[x - 1], fpr[x] - (1 - tpr[x])
    at = {}
    for rate in (0.001, 0.01, 0.1, 0.5):
        at[str(rate)] = float(1 - tpr[fpr <= rate].max())
    spread = np.sqrt((genuine.var() + impostor.var()) / 2)
    cases.append({
        "name": name, "genuine": genuine.tolist(), "impostor": impostor.tolist(),
        "auc": float(roc_auc_score(same, -distance)),
        "eer": float(fpr[x - 1] + a / (a + b) * (fpr[x] - fpr[x - 1])),
        "dprime": float((impostor.mean() - genuine.mean()) / spread) if spread > 0 else 0.0,
        "fnmr": at,
    })
with open("reference.json", "w") as f:
    json.dump(cases, f)
    f.write("\n")
