"""Loops of torch's optimizers over their parameters. A part of polyfills_source.py.

They read how many steps were taken from a tensor of one element for each parameter, to go on in Python's floats: a
graph cannot. Here the count stays a tensor, and what is computed of it is as exact. All else is done op by op in the
loops' own order. What only some programs ask for (complex parameters, numbers that are tensors, capturable and
differentiable steps) is left to torch.
"""


def takes_numbers(*given):
    for number in given:
        if not isinstance(number, (int, float)):
            return False
    return True


def are_plain(grads, counts):
    for place in range(len(grads)):
        if grads[place].is_sparse or counts[place].ndim != 0:
            return False
    return True


def correction_of(beta, step):
    """What an average lacks that began at zero. The base is a tensor, too: of a number its value would be guarded."""
    count = step.double()
    return 1 - (count - count + beta) ** count


@stands_for("torch.optim.adam._single_tensor_adam")
def adam_loop(function):
    def form(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, grad_scale, found_inf, *, amsgrad,
             has_complex, beta1, beta2, lr, weight_decay, eps, maximize, capturable, differentiable,
             decoupled_weight_decay):
        if (has_complex or capturable or differentiable or grad_scale is not None or found_inf is not None
                or not takes_numbers(beta1, beta2, lr, weight_decay, eps) or not are_plain(grads, state_steps)):
            left_to_torch()
            return function(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, grad_scale, found_inf,
                            amsgrad=amsgrad, has_complex=has_complex, beta1=beta1, beta2=beta2, lr=lr,
                            weight_decay=weight_decay, eps=eps, maximize=maximize, capturable=capturable,
                            differentiable=differentiable, decoupled_weight_decay=decoupled_weight_decay)
        import torch
        for i in range(len(params)):
            param, exp_avg, exp_avg_sq = params[i], exp_avgs[i], exp_avg_sqs[i]
            grad = -grads[i] if maximize else grads[i]
            step = state_steps[i]
            step += 1
            if weight_decay != 0:
                if decoupled_weight_decay:
                    param.mul_(1 - lr * weight_decay)
                else:
                    grad = grad.add(param, alpha=weight_decay)
            exp_avg.lerp_(grad, 1 - beta1)
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            step_size = lr / correction_of(beta1, step)
            correction = correction_of(beta2, step).sqrt()
            second = exp_avg_sq
            if amsgrad:
                second = max_exp_avg_sqs[i]
                second.copy_(torch.maximum(second, exp_avg_sq))
            denom = (second.sqrt() / correction).add_(eps)
            param.sub_(step_size * exp_avg / denom)
        return None
    return form


@stands_for("torch.optim.adagrad._single_tensor_adagrad")
def adagrad_loop(function):
    def form(params, grads, state_sums, state_steps, grad_scale, found_inf, *, lr, weight_decay, lr_decay, eps,
             has_sparse_grad, maximize, differentiable, has_complex):
        if (has_complex or has_sparse_grad or differentiable or grad_scale is not None or found_inf is not None
                or not takes_numbers(lr, weight_decay, lr_decay, eps) or not are_plain(grads, state_steps)):
            left_to_torch()
            return function(params, grads, state_sums, state_steps, grad_scale, found_inf, lr=lr,
                            weight_decay=weight_decay, lr_decay=lr_decay, eps=eps, has_sparse_grad=has_sparse_grad,
                            maximize=maximize, differentiable=differentiable, has_complex=has_complex)
        for i in range(len(params)):
            param, state_sum = params[i], state_sums[i]
            grad = -grads[i] if maximize else grads[i]
            step = state_steps[i]
            step += 1
            if weight_decay != 0:
                grad = grad.add(param, alpha=weight_decay)
            rate = lr / (1 + (step.double() - 1) * lr_decay)
            state_sum.addcmul_(grad, grad, value=1)
            param.sub_(rate * grad / state_sum.sqrt().add_(eps))
        return None
    return form


@stands_for("torch.optim.adamax._single_tensor_adamax")
def adamax_loop(function):
    def form(params, grads, exp_avgs, exp_infs, state_steps, *, eps, beta1, beta2, lr, weight_decay, maximize,
             differentiable, capturable, has_complex):
        if (has_complex or capturable or differentiable or not takes_numbers(beta1, beta2, lr, weight_decay, eps)
                or not are_plain(grads, state_steps)):
            left_to_torch()
            return function(params, grads, exp_avgs, exp_infs, state_steps, eps=eps, beta1=beta1, beta2=beta2, lr=lr,
                            weight_decay=weight_decay, maximize=maximize, differentiable=differentiable,
                            capturable=capturable, has_complex=has_complex)
        import torch
        for i in range(len(params)):
            param, exp_avg, exp_inf = params[i], exp_avgs[i], exp_infs[i]
            grad = -grads[i] if maximize else grads[i]
            step = state_steps[i]
            step += 1
            if weight_decay != 0:
                grad = grad.add(param, alpha=weight_decay)
            exp_avg.lerp_(grad, 1 - beta1)
            exp_inf.copy_(torch.maximum(exp_inf.mul_(beta2), grad.abs().add_(eps)))
            rate = lr / correction_of(beta1, step)
            param.sub_(rate * exp_avg / exp_inf)
        return None
    return form


@stands_for("torch.optim.nadam._single_tensor_nadam")
def nadam_loop(function):
    def form(params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, *, beta1, beta2, lr, weight_decay,
             momentum_decay, eps, decoupled_weight_decay, maximize, capturable, differentiable, has_complex):
        if (has_complex or capturable or differentiable
                or not takes_numbers(beta1, beta2, lr, weight_decay, momentum_decay, eps)
                or not are_plain(grads, state_steps)):
            left_to_torch()
            return function(params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, beta1=beta1, beta2=beta2,
                            lr=lr, weight_decay=weight_decay, momentum_decay=momentum_decay, eps=eps,
                            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, capturable=capturable,
                            differentiable=differentiable, has_complex=has_complex)
        for i in range(len(params)):
            param, exp_avg, exp_avg_sq, mu_product = params[i], exp_avgs[i], exp_avg_sqs[i], mu_products[i]
            grad = -grads[i] if maximize else grads[i]
            step = state_steps[i]
            step += 1
            count = step.double()
            if weight_decay != 0:
                if decoupled_weight_decay:
                    param.mul_(1 - lr * weight_decay)
                else:
                    grad = grad.add(param, alpha=weight_decay)
            mu = beta1 * (1.0 - 0.5 * (0.96 ** (count * momentum_decay)))
            mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((count + 1) * momentum_decay)))
            mu_product.mul_(mu.to(mu_product.dtype))
            exp_avg.lerp_(grad, 1 - beta1)
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            denom = (exp_avg_sq / correction_of(beta2, step)).sqrt().add_(eps)
            product = mu_product.double()
            param.add_(-lr * (1.0 - mu) / (1.0 - product) * grad / denom)
            param.add_(-lr * mu_next / (1.0 - product * mu_next) * exp_avg / denom)
        return None
    return form


@stands_for("torch.optim.radam._single_tensor_radam")
def radam_loop(function):
    def form(params, grads, exp_avgs, exp_avg_sqs, state_steps, *, beta1, beta2, lr, weight_decay, eps,
             decoupled_weight_decay, differentiable, maximize, capturable, has_complex):
        if (has_complex or capturable or differentiable or not takes_numbers(beta1, beta2, lr, weight_decay, eps)
                or not are_plain(grads, state_steps)):
            left_to_torch()
            return function(params, grads, exp_avgs, exp_avg_sqs, state_steps, beta1=beta1, beta2=beta2, lr=lr,
                            weight_decay=weight_decay, eps=eps, decoupled_weight_decay=decoupled_weight_decay,
                            differentiable=differentiable, maximize=maximize, capturable=capturable,
                            has_complex=has_complex)
        import torch
        limit = 2 / (1 - beta2) - 1
        for i in range(len(params)):
            param, exp_avg, exp_avg_sq = params[i], exp_avgs[i], exp_avg_sqs[i]
            grad = -grads[i] if maximize else grads[i]
            step = state_steps[i]
            step += 1
            count = step.double()
            if weight_decay != 0:
                if decoupled_weight_decay:
                    param.mul_(1 - lr * weight_decay)
                else:
                    grad = grad.add(param, alpha=weight_decay)
            exp_avg.lerp_(grad, 1 - beta1)
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            correction = correction_of(beta2, step)
            length = limit - 2 * count * (1 - correction) / correction
            rect = ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)).sqrt()
            rate = correction.sqrt() / exp_avg_sq.sqrt().add_(eps)
            first = exp_avg / correction_of(beta1, step) * lr
            # Both are computed: which one counts hangs on how many steps were taken.
            param.add_(torch.where(length > 5.0, first * rate * rect, first), alpha=-1.0)
        return None
    return form


@stands_for("torch.optim.asgd._single_tensor_asgd")
def asgd_loop(function):
    def form(params, grads, axs, mus, etas, state_steps, *, lambd, lr, t0, alpha, weight_decay, maximize,
             differentiable, capturable, has_complex):
        if (has_complex or capturable or differentiable or not takes_numbers(lambd, lr, t0, alpha, weight_decay)
                or not are_plain(grads, state_steps)):
            left_to_torch()
            return function(params, grads, axs, mus, etas, state_steps, lambd=lambd, lr=lr, t0=t0, alpha=alpha,
                            weight_decay=weight_decay, maximize=maximize, differentiable=differentiable,
                            capturable=capturable, has_complex=has_complex)
        import torch
        for i in range(len(params)):
            param, ax, mu, eta = params[i], axs[i], mus[i], etas[i]
            grad = -grads[i] if maximize else grads[i]
            step = state_steps[i]
            step += 1
            if weight_decay != 0:
                grad = grad.add(param, alpha=weight_decay)
            rate = eta.double()
            param.mul_(1 - lambd * rate)
            param.add_(-rate * grad)
            ax.copy_(torch.where(mu == 1, param, ax + (param - ax) * mu))
            count = step.double()
            eta.copy_(lr / ((1 + lambd * lr * count) ** alpha))
            mu.copy_(1 / (count - t0).clamp(min=1))
        return None
    return form


@stands_for("torch.optim._adafactor._single_tensor_adafactor")
def adafactor_loop(function):
    def form(params, grads, row_vars, col_vars, variances, state_steps, grad_scale, found_inf, *, d, lr, beta2_decay,
             weight_decay, eps1, eps2, maximize, has_complex):
        if (has_complex or grad_scale is not None or found_inf is not None
                or not takes_numbers(d, lr, beta2_decay, weight_decay, eps2) or not are_plain(grads, state_steps)):
            left_to_torch()
            return function(params, grads, row_vars, col_vars, variances, state_steps, grad_scale, found_inf, d=d,
                            lr=lr, beta2_decay=beta2_decay, weight_decay=weight_decay, eps1=eps1, eps2=eps2,
                            maximize=maximize, has_complex=has_complex)
        import torch
        for i in range(len(params)):
            param, row_var, col_var, variance = params[i], row_vars[i], col_vars[i], variances[i]
            grad = -grads[i] if maximize else grads[i]
            step = state_steps[i]
            if eps1 is None:
                eps1 = torch.finfo(param.dtype).eps
            step += 1
            count = step.double()
            weight = (count ** beta2_decay).to(grad.dtype)
            size = param.norm(2).double() / (param.numel() ** 0.5)
            alpha = size.clamp(min=eps2) * (1 / count.sqrt()).clamp(max=lr)
            if weight_decay != 0:
                param.mul_(1 - lr * weight_decay)
            if grad.dim() > 1:
                row_mean = torch.norm(grad, dim=-1, keepdim=True).square_().div_(grad.size(-1))
                row_var.lerp_(row_mean, weight)
                col_mean = torch.norm(grad, dim=-2, keepdim=True).square_().div_(grad.size(-2))
                col_var.lerp_(col_mean, weight)
                estimate = row_var @ col_var
                estimate.div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps1))
            else:
                variance.lerp_(grad * grad, weight)
                estimate = variance.clone()
            update = estimate.clamp_(min=eps1 * eps1).rsqrt_()
            update.mul_(grad)
            denom = (update.norm(2).double() / ((update.numel() ** 0.5) * d)).clamp(min=1.0)
            param.add_(-alpha / denom * update)
        return None
    return form
