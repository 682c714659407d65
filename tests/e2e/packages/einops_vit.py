"""Vision transformers written with einops layers (vit-pytorch), trained a little and asked with several batch sizes."""
import torch
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange, Reduce
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cct import CCT

torch.manual_seed(0)
model = ViT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64, dropout=0.1, emb_dropout=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(4):
    images, labels = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 3))
model.eval()
simple = SimpleViT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64).eval()
cct = CCT(img_size=32, embedding_dim=32, n_conv_layers=1, kernel_size=3, num_layers=2, num_heads=2, mlp_ratio=2.0, num_classes=10).eval()
block = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 5), Reduce("b c (h 2) (w 2) -> b c h w", "max"), Rearrange("b c h w -> b (c h w)"),
                            torch.nn.Linear(6 * 14 * 14, 5))
with torch.no_grad():
    for batch in (1, 4, 4, 7, 3):
        x = torch.randn(batch, 3, 32, 32)
        print(round(model(x).std().item(), 3), round(simple(x).std().item(), 3), tuple(block(x).shape))
        patches = rearrange(x, "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=8, p2=8)
        means = reduce(patches, "b n d -> b d", "mean")
        print(tuple(repeat(means, "b d -> b k d", k=3).shape), round(means.sum().item(), 3))
    for batch in (2, 2, 5):
        print(round(cct(torch.randn(batch, 3, 32, 32)).std().item(), 3))
