"""Differentiable augmentations, filters, geometry and losses on images of several sizes (kornia)."""
import kornia
import kornia.augmentation as K
import torch

torch.manual_seed(3)
augment = torch.nn.Sequential(K.RandomHorizontalFlip(p=0.5), K.RandomAffine(degrees=20, p=1.0), K.ColorJitter(0.2, 0.2, 0.2, 0.1, p=1.0))
for shape in ((4, 3, 32, 32), (4, 3, 32, 32), (2, 3, 40, 28), (3, 3, 32, 48)):
    x = torch.rand(*shape)
    out = augment(x)
    blurred = kornia.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5))
    edges = kornia.filters.sobel(x)
    gray = kornia.color.rgb_to_grayscale(x)
    hsv = kornia.color.rgb_to_hsv(x)
    back = kornia.color.hsv_to_rgb(hsv)
    ssim = kornia.metrics.ssim(x, blurred, 5)
    lab = kornia.color.rgb_to_lab(x)
    print(tuple(out.shape), *(f"{v.mean().item():.3f}" for v in (out, blurred, edges, gray, back, ssim, lab)))
corners = torch.tensor([[[0.0, 0.0], [31.0, 0.0], [31.0, 31.0], [0.0, 31.0]]])
for shift in (1.0, 2.0, 3.0, 4.0):
    homography = kornia.geometry.transform.get_perspective_transform(corners, corners + torch.rand(1, 4, 2) * shift)
    warped = kornia.geometry.transform.warp_perspective(torch.rand(1, 3, 32, 32), homography, (32, 32))
    print(tuple(warped.shape), round(warped.mean().item(), 3), round(homography.det().item(), 3))
angle = torch.tensor([0.1, 0.4, 0.9], requires_grad=True)
rotation = kornia.geometry.conversions.axis_angle_to_rotation_matrix(angle[None])
rotation.sum().backward()
print([round(v, 3) for v in angle.grad.tolist()])
