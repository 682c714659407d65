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
