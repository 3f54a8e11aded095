"""A first program: fit a small network to a noisy cubic.

python -m flambeau run examples/curve.py
"""

import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 200).unsqueeze(1)
y = x**3 + 0.1 * torch.randn_like(x)

model = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(300):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}")
