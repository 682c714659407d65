"""k-means and a mixture of Gaussians, as scripts have them: loops until nothing moves."""

import math

import torch


def kmeans(points, count, generator):
    centres = points[torch.randperm(len(points), generator=generator)[:count]]
    for turn in range(60):
        nearest = torch.cdist(points, centres).argmin(1)
        moved = torch.stack([points[nearest == one].mean(0) if (nearest == one).any() else centres[one]
                             for one in range(count)])
        if torch.allclose(moved, centres, atol=1e-6):
            break
        centres = moved
    return centres, nearest


def mixture(points, centres, turns):
    count, width = centres.shape
    variance, weight = torch.ones(count, width), torch.full((count,), 1 / count)
    for _ in range(turns):
        apart = points[:, None] - centres
        logs = weight.log() - 0.5 * (apart**2 / variance + variance.log() + math.log(2 * math.pi)).sum(-1)
        total = logs.logsumexp(1, keepdim=True)
        share = (logs - total).exp()
        sums = share.sum(0) + 1e-8
        centres = share.T @ points / sums[:, None]
        variance = share.T @ points**2 / sums[:, None] - centres**2 + 1e-4
        weight = sums / len(points)
    return total.mean()


generator = torch.Generator().manual_seed(0)
for turn in range(3):
    points = torch.randn(6000, 8, generator=generator) + torch.randint(0, 6, (6000, 1), generator=generator) * 2
    centres, nearest = kmeans(points, 10, generator)
    print(len(nearest), f"{mixture(points, centres, 60):.0f}")
